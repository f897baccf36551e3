// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Families.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "shoal/Dialect/Shoal/IR/StructureOps.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"

using namespace mlir;
using namespace shoal;

namespace {

struct LowerBroadcastInDim : OpRewritePattern<BroadcastInDimOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BroadcastInDimOp op,
                                PatternRewriter &rewriter) const override {
    RankedTensorType type = tensorTypeOf(op.getResult());
    SmallVector<AffineExpr> exprs;
    for (auto [size, dim] :
         llvm::zip_equal(tensorTypeOf(op.getInput()).getShape(), op.getDims()))
      exprs.push_back(size == type.getDimSize(dim)
                          ? rewriter.getAffineDimExpr(dim)
                          : rewriter.getAffineConstantExpr(0));
    auto map = AffineMap::get(type.getRank(), 0, exprs, rewriter.getContext());
    rewriter.replaceOp(
        op, makeMoved(rewriter, op.getLoc(), type, op.getInput(), map));
    return success();
  }
};

struct LowerTranspose : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    RankedTensorType type = tensorTypeOf(op.getResult());
    SmallVector<AffineExpr> exprs(type.getRank());
    for (auto [resultDim, inputDim] : llvm::enumerate(op.getPermutation()))
      exprs[inputDim] = rewriter.getAffineDimExpr(resultDim);
    auto map = AffineMap::get(type.getRank(), 0, exprs, rewriter.getContext());
    rewriter.replaceOp(
        op, makeMoved(rewriter, op.getLoc(), type, op.getInput(), map));
    return success();
  }
};

struct LowerSlice : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SliceOp op,
                                PatternRewriter &rewriter) const override {
    RankedTensorType type = tensorTypeOf(op.getResult());
    Value input = dropRowsBehind(op, rewriter);
    SmallVector<AffineExpr> exprs;
    for (auto [dim, start, stride] :
         llvm::enumerate(op.getStarts(), op.getStrides()))
      exprs.push_back(type.getDimSize(dim) == 1
                          ? rewriter.getAffineConstantExpr(start)
                          : rewriter.getAffineDimExpr(dim) * stride + start);
    auto map = AffineMap::get(type.getRank(), 0, exprs, rewriter.getContext());
    rewriter.replaceOp(op, makeMoved(rewriter, op.getLoc(), type, input, map));
    return success();
  }

private:
  /// linalg wants an operand indexed by a loop alone to have as many rows as
  /// the loop has steps: dimensions whose first rows are kept are cut before.
  static Value dropRowsBehind(SliceOp op, PatternRewriter &rewriter) {
    ArrayRef<int64_t> wanted = tensorTypeOf(op.getResult()).getShape();
    SmallVector<int64_t> sizes(tensorTypeOf(op.getInput()).getShape());
    SmallVector<int64_t> zeros(sizes.size(), 0), ones(sizes.size(), 1);
    bool isCut = false;
    for (auto [dim, size] : llvm::enumerate(sizes)) {
      bool isPlain = op.getStarts()[dim] == 0 && op.getStrides()[dim] == 1;
      if (!isPlain || wanted[dim] == 1 || wanted[dim] == size)
        continue;
      size = wanted[dim];
      isCut = true;
    }
    if (!isCut)
      return op.getInput();
    auto type = tensorTypeOf(op.getInput()).clone(sizes);
    return tensor::ExtractSliceOp::create(
        rewriter, op.getLoc(), type, op.getInput(), ValueRange(), ValueRange(),
        ValueRange(), zeros, sizes, ones);
  }
};

struct LowerReverse : OpRewritePattern<ReverseOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReverseOp op,
                                PatternRewriter &rewriter) const override {
    RankedTensorType type = tensorTypeOf(op.getResult());
    SmallVector<AffineExpr> exprs;
    for (auto [dim, size] : llvm::enumerate(type.getShape())) {
      AffineExpr row = rewriter.getAffineDimExpr(dim);
      bool turns = llvm::is_contained(op.getDims(), int64_t(dim));
      exprs.push_back(turns && size > 1 ? size - 1 - row : row);
    }
    auto map = AffineMap::get(type.getRank(), 0, exprs, rewriter.getContext());
    rewriter.replaceOp(
        op, makeMoved(rewriter, op.getLoc(), type, op.getInput(), map));
    return success();
  }
};

struct LowerIota : OpRewritePattern<IotaOp> {
  using OpRewritePattern::OpRewritePattern;

  static Value convertIndex(OpBuilder &builder, Location loc, Value index,
                            Type type) {
    if (isa<IntegerType>(type))
      return arith::IndexCastOp::create(builder, loc, type, index);
    Value wide =
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(), index);
    return arith::SIToFPOp::create(builder, loc, type, wide);
  }

  LogicalResult matchAndRewrite(IotaOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType type = tensorTypeOf(op.getResult());
    Value iota = makeParallel(
        rewriter, loc, type, {}, {}, [&](OpBuilder &nested, ValueRange) {
          Value index = linalg::IndexOp::create(nested, loc, op.getDim());
          return convertIndex(nested, loc, index, type.getElementType());
        });
    rewriter.replaceOp(op, iota);
    return success();
  }
};

} // namespace

void shoal::populateStructurePatterns(RewritePatternSet &patterns,
                                      const ProgramNumbering &) {
  patterns.add<LowerBroadcastInDim, LowerTranspose, LowerSlice, LowerReverse,
               LowerIota>(patterns.getContext());
}
