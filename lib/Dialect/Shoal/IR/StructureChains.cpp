// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Chains of slice, pad and concatenate that read rows of one tensor become one
// op, whose rule says in one window which rows a block reads: what devices lack
// is then sent once, and only that. With rows of n:
//
// clang-format off
//      before                                 after
// (S1) slice of a slice                       one slice
// (S2) slice of a pad without interior, with  pad, lower by what is cut
//      stride 1
// (S3) slice of a concatenate, with stride 1  slices of its operands
//      along it
// (P1) pad of a slice with stride 1, that     pad, lower by what is cut
//      adds no rows where the slice cuts some
// (C1) operands side by side that are rows    one operand, a ... c
//      a ... b, b ... c of one tensor
// (C2) rows a ... n of a tensor, then its     roll by n - a
//      rows 0 ... a
// (C3) one operand, all others one element    pad of that operand
//      repeated
// (C4) an operand that concatenates along the  its operands
//      same, and no one else reads
// (C5) operands without rows                  the others
// clang-format on
//
// (S3) only where one operand is left or no one else reads the concatenation.
// (C1) ... (C5) are in StructureConcatenations.cpp.

#include "StructureChains.h"

using namespace mlir;
using namespace shoal;

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

namespace {

/// (S1)
struct SliceOfSlice : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<SliceOp>();
    if (!inner)
      return failure();
    SmallVector<int64_t> starts, limits, strides;
    for (int64_t d = 0; d < op.getType().getRank(); ++d) {
      int64_t stride = inner.getStrides()[d];
      starts.push_back(inner.getStarts()[d] + op.getStarts()[d] * stride);
      strides.push_back(op.getStrides()[d] * stride);
      // Behind the last row that is kept.
      int64_t kept = op.getType().getDimSize(d);
      limits.push_back(kept == 0
                           ? starts.back()
                           : starts.back() + (kept - 1) * strides.back() + 1);
      // Of no rows the place does not matter.
      int64_t size = tensorTypeOf(inner.getInput()).getDimSize(d);
      starts.back() = std::min(starts.back(), size);
      limits.back() = std::min(limits.back(), size);
    }
    rewriter.replaceOpWithNewOp<SliceOp>(op, op.getType(), inner.getInput(),
                                         starts, limits, strides);
    return success();
  }
};

/// (S2)
struct SliceOfPad : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp op,
                                PatternRewriter &rewriter) const override {
    auto pad = op.getInput().getDefiningOp<PadOp>();
    if (!pad || !hasUnitStrides(op) ||
        llvm::any_of(pad.getInterior(), [](int64_t rows) { return rows > 0; }))
      return failure();
    SmallVector<int64_t> low, high;
    for (auto [d, size] : llvm::enumerate(pad.getType().getShape())) {
      low.push_back(pad.getLow()[d] - op.getStarts()[d]);
      high.push_back(pad.getHigh()[d] - (size - op.getLimits()[d]));
    }
    rewriter.replaceOpWithNewOp<PadOp>(op, op.getType(), pad.getInput(),
                                       pad.getValue(), low, high,
                                       pad.getInterior());
    return success();
  }
};

/// (S3)
struct SliceOfConcatenate : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<ConcatenateOp>();
    if (!inner || op.getStrides()[inner.getDim()] != 1)
      return failure();
    int64_t dim = inner.getDim(), place = 0;
    SmallVector<std::pair<Value, int64_t>> kept; // with its first row's place
    for (Value input : inner.getInputs()) {
      int64_t end = place + tensorTypeOf(input).getDimSize(dim);
      if (place < op.getLimits()[dim] && op.getStarts()[dim] < end)
        kept.emplace_back(input, place);
      place = end;
    }
    if (kept.empty() || (kept.size() > 1 && !inner->hasOneUse()))
      return failure();
    SmallVector<Value> parts;
    for (auto [input, begin] : kept)
      parts.push_back(cut(op, input, begin, dim, rewriter));
    replaceByParts(rewriter, op, parts, dim);
    return success();
  }

private:
  /// What the slice keeps of the operand whose rows begin at `place`.
  static Value cut(SliceOp op, Value input, int64_t place, int64_t dim,
                   PatternRewriter &rewriter) {
    SmallVector<int64_t> starts(op.getStarts()), limits(op.getLimits());
    int64_t size = tensorTypeOf(input).getDimSize(dim);
    starts[dim] = std::clamp<int64_t>(starts[dim] - place, 0, size);
    limits[dim] = std::clamp<int64_t>(limits[dim] - place, 0, size);
    SmallVector<int64_t> shape(op.getType().getShape());
    shape[dim] = limits[dim] - starts[dim];
    return SliceOp::create(rewriter, op.getLoc(), op.getType().clone(shape),
                           input, starts, limits, op.getStrides());
  }
};

//===----------------------------------------------------------------------===//
// Pads
//===----------------------------------------------------------------------===//

/// (P1)
struct PadOfSlice : OpRewritePattern<PadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PadOp op,
                                PatternRewriter &rewriter) const override {
    auto slice = op.getInput().getDefiningOp<SliceOp>();
    if (!slice || !hasUnitStrides(slice))
      return failure();
    SmallVector<int64_t> low, high;
    for (auto [d, size] :
         llvm::enumerate(tensorTypeOf(slice.getInput()).getShape())) {
      int64_t before = slice.getStarts()[d],
              behind = size - slice.getLimits()[d];
      bool isCut = before > 0 || behind > 0;
      if ((before > 0 && op.getLow()[d] > 0) ||
          (behind > 0 && op.getHigh()[d] > 0) ||
          (isCut && op.getInterior()[d] > 0))
        return failure();
      low.push_back(op.getLow()[d] - before);
      high.push_back(op.getHigh()[d] - behind);
    }
    rewriter.replaceOpWithNewOp<PadOp>(op, op.getType(), slice.getInput(),
                                       op.getValue(), low, high,
                                       op.getInterior());
    return success();
  }
};

} // namespace

void SliceOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *context) {
  patterns.add<SliceOfSlice, SliceOfPad, SliceOfConcatenate>(context);
}

void PadOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                        MLIRContext *context) {
  patterns.add<PadOfSlice>(context);
}
