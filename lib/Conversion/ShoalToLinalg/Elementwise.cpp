// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Families.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "shoal/Dialect/Shoal/IR/ElementwiseOps.h"

using namespace mlir;
using namespace shoal;

/// Scalars or tensors of integers as the floats of their width, and back.
static Value reinterpret(OpBuilder &builder, Location loc, Value value,
                         Type element) {
  if (getElementTypeOrSelf(value) == element)
    return value;
  Type type = element;
  if (auto tensor = dyn_cast<RankedTensorType>(value.getType()))
    type = tensor.clone(element);
  return arith::BitcastOp::create(builder, loc, type, value);
}

static IntegerType bitsOf(Type element) {
  return IntegerType::get(element.getContext(),
                          element.getIntOrFloatBitWidth());
}

/// How far from the low end the bits of the narrow element with index
/// `dim` lie in the wide one.
static Value bitOffset(OpBuilder &builder, Location loc, int64_t dim,
                       unsigned width, IntegerType type) {
  Value index = linalg::IndexOp::create(builder, loc, dim);
  Value number = arith::IndexCastOp::create(builder, loc, type, index);
  Value factor = arith::ConstantOp::create(builder, loc,
                                           builder.getIntegerAttr(type, width));
  return arith::MulIOp::create(builder, loc, number, factor);
}

namespace {

/// Shifts are by less than the width: the narrow elements lie inside.
struct LowerBitcastConvert : OpRewritePattern<BitcastConvertOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BitcastConvertOp op,
                                PatternRewriter &rewriter) const override {
    auto from = cast<RankedTensorType>(op.getInput().getType());
    auto to = cast<RankedTensorType>(op.getResult().getType());
    if (from.getRank() == to.getRank())
      rewriter.replaceOp(op, reinterpret(rewriter, op.getLoc(), op.getInput(),
                                         to.getElementType()));
    else
      rewriter.replaceOp(op, from.getRank() < to.getRank()
                                 ? narrow(rewriter, op, from, to)
                                 : widen(rewriter, op, from, to));
    return success();
  }

private:
  /// (d0, ..., dn) -> (d0, ..., dn-1) for n = `last`, which may be 0.
  static AffineMap allButLast(unsigned last, MLIRContext *context) {
    auto whole = AffineMap::getMultiDimIdentityMap(last + 1, context);
    return AffineMap::get(last + 1, 0, whole.getResults().drop_back(), context);
  }

  static Value narrow(PatternRewriter &rewriter, BitcastConvertOp op,
                      RankedTensorType from, RankedTensorType to) {
    int64_t last = from.getRank();
    IntegerType wide = bitsOf(from.getElementType());
    IntegerType part = bitsOf(to.getElementType());
    return makeParallel(rewriter, op.getLoc(), to, op.getInput(),
                        allButLast(last, op.getContext()),
                        [&](OpBuilder &b, ValueRange args) -> Value {
                          Location loc = op.getLoc();
                          Value bits = reinterpret(b, loc, args[0], wide);
                          Value offset =
                              bitOffset(b, loc, last, part.getWidth(), wide);
                          bits = arith::ShRUIOp::create(b, loc, bits, offset);
                          bits = arith::TruncIOp::create(b, loc, part, bits);
                          return reinterpret(b, loc, bits, to.getElementType());
                        });
  }

  static Value widen(PatternRewriter &rewriter, BitcastConvertOp op,
                     RankedTensorType from, RankedTensorType to) {
    Location loc = op.getLoc();
    int64_t last = to.getRank();
    IntegerType part = bitsOf(from.getElementType());
    IntegerType wide = bitsOf(to.getElementType());
    auto whole = AffineMap::getMultiDimIdentityMap(last + 1, op.getContext());
    AffineMap maps[] = {whole, allButLast(last, op.getContext())};
    SmallVector<utils::IteratorType> iterators(last,
                                               utils::IteratorType::parallel);
    iterators.push_back(utils::IteratorType::reduction);
    Value zero = makeFilled(rewriter, loc, to.getShape(),
                            rewriter.getIntegerAttr(wide, 0));
    auto joined = linalg::GenericOp::create(
        rewriter, loc, zero.getType(), op.getInput(), zero, maps, iterators,
        [&](OpBuilder &b, Location nested, ValueRange args) {
          Value bits = reinterpret(b, nested, args[0], part);
          bits = arith::ExtUIOp::create(b, nested, wide, bits);
          Value offset = bitOffset(b, nested, last, part.getWidth(), wide);
          bits = arith::ShLIOp::create(b, nested, bits, offset);
          bits = arith::OrIOp::create(b, nested, args[1], bits);
          linalg::YieldOp::create(b, nested, bits);
        });
    return reinterpret(rewriter, loc, joined.getResult(0), to.getElementType());
  }
};

} // namespace

void shoal::populateElementwisePatterns(RewritePatternSet &patterns,
                                        const ProgramNumbering &) {
  patterns.add<LowerBitcastConvert>(patterns.getContext());
}
