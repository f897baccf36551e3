// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Concatenations of rows, by the numbers of StructureChains.cpp.

#include "StructureChains.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace shoal;

//===----------------------------------------------------------------------===//
// Rows of one dimension
//===----------------------------------------------------------------------===//

namespace {
/// The rows begin ... end - 1 of a dimension of a tensor, all of the others.
struct Rows {
  Value of;
  int64_t begin, end;
};
} // namespace

/// The value as rows of another, where it is a slice of dimension `dim` alone;
/// else as all of its own.
static Rows rowsOf(Value value, int64_t dim) {
  Rows own{value, 0, tensorTypeOf(value).getDimSize(dim)};
  auto slice = value.getDefiningOp<SliceOp>();
  if (!slice || !hasUnitStrides(slice))
    return own;
  ArrayRef<int64_t> from = tensorTypeOf(slice.getInput()).getShape();
  for (auto [d, size] : llvm::enumerate(from))
    if (int64_t(d) != dim && slice.getType().getDimSize(d) != size)
      return own;
  return {slice.getInput(), slice.getStarts()[dim], slice.getLimits()[dim]};
}

static Value sliceRows(OpBuilder &builder, Location loc, const Rows &rows,
                       int64_t dim) {
  RankedTensorType type = tensorTypeOf(rows.of);
  if (rows.begin == 0 && rows.end == type.getDimSize(dim))
    return rows.of;
  SmallVector<int64_t> starts(type.getRank(), 0), limits(type.getShape());
  SmallVector<int64_t> strides(type.getRank(), 1), shape(type.getShape());
  starts[dim] = rows.begin;
  limits[dim] = rows.end;
  shape[dim] = rows.end - rows.begin;
  return SliceOp::create(builder, loc, type.clone(shape), rows.of, starts,
                         limits, strides);
}

//===----------------------------------------------------------------------===//
// Concatenations
//===----------------------------------------------------------------------===//

namespace {

/// (C1)
struct JoinNeighbours : OpRewritePattern<ConcatenateOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatenateOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Rows> joined;
    for (Value input : op.getInputs()) {
      Rows rows = rowsOf(input, op.getDim());
      bool goesOn = !joined.empty() && joined.back().of == rows.of &&
                    joined.back().end == rows.begin;
      if (goesOn)
        joined.back().end = rows.end;
      else
        joined.push_back(rows);
    }
    if (joined.size() == op.getInputs().size())
      return failure();
    SmallVector<Value> parts;
    for (const Rows &rows : joined)
      parts.push_back(sliceRows(rewriter, op.getLoc(), rows, op.getDim()));
    replaceByParts(rewriter, op, parts, op.getDim());
    return success();
  }
};

/// (C2)
struct ConcatenateToRoll : OpRewritePattern<ConcatenateOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatenateOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getInputs().size() != 2)
      return failure();
    int64_t dim = op.getDim(), size = op.getType().getDimSize(dim);
    Rows last = rowsOf(op.getInputs()[0], dim);
    Rows first = rowsOf(op.getInputs()[1], dim);
    if (last.of != first.of || first.begin != 0 || first.end != last.begin ||
        last.end != size || last.begin == 0 ||
        last.of.getType() != op.getType())
      return failure();
    rewriter.replaceOpWithNewOp<RollOp>(op, op.getType(), last.of, dim,
                                        size - last.begin);
    return success();
  }
};

/// (C3)
struct ConcatenateToPad : OpRewritePattern<ConcatenateOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatenateOp op,
                                PatternRewriter &rewriter) const override {
    Value kept;
    Attribute element;
    SmallVector<int64_t> none(op.getType().getRank(), 0);
    SmallVector<int64_t> low = none, high = none;
    for (Value input : op.getInputs()) {
      SplatElementsAttr splat;
      if (!matchPattern(input, m_Constant(&splat))) {
        if (kept)
          return failure();
        kept = input;
        continue;
      }
      Attribute own = splat.getSplatValue<Attribute>();
      if (element && element != own)
        return failure();
      element = own;
      (kept ? high : low)[op.getDim()] +=
          splat.getType().getDimSize(op.getDim());
    }
    if (!kept || !element)
      return failure();
    auto scalar = RankedTensorType::get({}, op.getType().getElementType());
    Value value = arith::ConstantOp::create(
        rewriter, op.getLoc(),
        DenseElementsAttr::get(scalar, ArrayRef<Attribute>(element)));
    rewriter.replaceOpWithNewOp<PadOp>(op, op.getType(), kept, value, low, high,
                                       none);
    return success();
  }
};

/// (C4)
struct ConcatenateOfConcatenate : OpRewritePattern<ConcatenateOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatenateOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> parts;
    bool changes = false;
    for (Value input : op.getInputs()) {
      auto inner = input.getDefiningOp<ConcatenateOp>();
      if (inner && inner.getDim() == op.getDim() && inner->hasOneUse()) {
        llvm::append_range(parts, inner.getInputs());
        changes = true;
      } else {
        parts.push_back(input);
      }
    }
    if (!changes)
      return failure();
    replaceByParts(rewriter, op, parts, op.getDim());
    return success();
  }
};

/// (C5) The last one is left, where none has rows.
struct DropEmptyOperands : OpRewritePattern<ConcatenateOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatenateOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> parts(op.getInputs());
    llvm::erase_if(parts, [&](Value input) {
      return tensorTypeOf(input).getDimSize(op.getDim()) == 0;
    });
    if (parts.empty())
      parts.push_back(op.getInputs().back());
    if (parts.size() == op.getInputs().size())
      return failure();
    replaceByParts(rewriter, op, parts, op.getDim());
    return success();
  }
};

} // namespace

void ConcatenateOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                MLIRContext *context) {
  patterns.add<JoinNeighbours, ConcatenateToRoll, ConcatenateToPad,
               ConcatenateOfConcatenate, DropEmptyOperands>(context);
}
