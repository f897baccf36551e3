// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Families.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "shoal/Dialect/Shoal/IR/StructureOps.h"

using namespace mlir;
using namespace shoal;

/// `target` with `source` written at `offsets`, `strides` apart. An empty
/// source may have offsets that no insertion may have.
static Value insert(OpBuilder &builder, Location loc, Value source,
                    Value target, ArrayRef<int64_t> offsets,
                    ArrayRef<int64_t> strides) {
  if (cast<RankedTensorType>(source.getType()).getNumElements() == 0)
    return target;
  auto attr = [&](int64_t value) -> OpFoldResult {
    return builder.getIndexAttr(value);
  };
  ArrayRef<int64_t> sizes = cast<RankedTensorType>(source.getType()).getShape();
  return tensor::InsertSliceOp::create(
      builder, loc, source, target, llvm::map_to_vector(offsets, attr),
      llvm::map_to_vector(sizes, attr), llvm::map_to_vector(strides, attr));
}

namespace {

struct LowerPad : OpRewritePattern<PadOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(PadOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(op.getResult().getType());
    Value filled = makeSpread(rewriter, loc, op.getValue(), type);
    SmallVector<int64_t> places, strides;
    for (auto [dim, interior] : llvm::enumerate(op.getInterior())) {
      places.push_back(op.getKept(dim).place);
      strides.push_back(interior + 1);
    }
    rewriter.replaceOp(op, insert(rewriter, loc, keptPart(op, rewriter), filled,
                                  places, strides));
    return success();
  }

private:
  static Value keptPart(PadOp op, PatternRewriter &rewriter) {
    auto type = cast<RankedTensorType>(op.getInput().getType());
    SmallVector<int64_t> begins, sizes, ones(type.getRank(), 1);
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      PadOp::Kept kept = op.getKept(dim);
      begins.push_back(kept.begin);
      sizes.push_back(kept.end - kept.begin);
    }
    if (ArrayRef<int64_t>(sizes) == type.getShape())
      return op.getInput();
    // An empty part may begin behind the end.
    if (llvm::is_contained(sizes, 0))
      return makeEmpty(rewriter, op.getLoc(), sizes, type.getElementType());
    return tensor::ExtractSliceOp::create(
        rewriter, op.getLoc(), type.clone(sizes), op.getInput(), ValueRange(),
        ValueRange(), ValueRange(), begins, sizes, ones);
  }
};

struct LowerConcatenate : OpRewritePattern<ConcatenateOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConcatenateOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(op.getResult().getType());
    Value result =
        makeEmpty(rewriter, loc, type.getShape(), type.getElementType());
    SmallVector<int64_t> offsets(type.getRank(), 0);
    SmallVector<int64_t> strides(type.getRank(), 1);
    for (Value input : op.getInputs()) {
      result = insert(rewriter, loc, input, result, offsets, strides);
      offsets[op.getDim()] +=
          cast<RankedTensorType>(input.getType()).getDimSize(op.getDim());
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// The last rows in front, those before them behind.
struct LowerRoll : OpRewritePattern<RollOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RollOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType type = op.getType();
    int64_t dim = op.getDim(), size = type.getDimSize(dim);
    int64_t shift = op.getShift();
    SmallVector<int64_t> strides(type.getRank(), 1), none(type.getRank(), 0);
    Value result =
        makeEmpty(rewriter, loc, type.getShape(), type.getElementType());
    auto move = [&](int64_t from, int64_t to, int64_t rows) {
      SmallVector<int64_t> begin = none, place = none, shape(type.getShape());
      begin[dim] = from;
      place[dim] = to;
      shape[dim] = rows;
      Value part = tensor::ExtractSliceOp::create(
          rewriter, loc, type.clone(shape), op.getInput(), ValueRange(),
          ValueRange(), ValueRange(), begin, shape, strides);
      result = insert(rewriter, loc, part, result, place, strides);
    };
    move(size - shift, 0, shift);
    move(0, shift, size - shift);
    rewriter.replaceOp(op, result);
    return success();
  }
};

} // namespace

void shoal::populateStructureInsertionPatterns(RewritePatternSet &patterns,
                                               const ProgramNumbering &) {
  patterns.add<LowerPad, LowerConcatenate, LowerRoll>(patterns.getContext());
}
