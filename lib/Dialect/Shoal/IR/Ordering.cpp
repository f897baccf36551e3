// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// sort, top_k, argmax and argmin.

#include "shoal/Dialect/Shoal/IR/Algebra.h"
#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"
#include "shoal/Dialect/Shoal/IR/OrderingOps.h"
#include "shoal/Dialect/Shoal/IR/ReductionOps.h"
#include "shoal/Dialect/Shoal/IR/TensorBuilder.h"

using namespace mlir;
using namespace shoal;

#define GET_OP_CLASSES
#include "shoal/Dialect/Shoal/IR/OrderingOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

LogicalResult SortOp::verify() {
  if (getInputs().empty()) // (C1)
    return emitOpError() << "expected at least one operand";
  ArrayRef<int64_t> shape = tensorTypeOf(getInputs()[0]).getShape();
  for (auto [i, input] : llvm::enumerate(getInputs()))
    if (failed(verifyShape(*this, "operand " + Twine(i), input, shape)))
      return failure();
  if (failed(verifyDim(*this, "dim", getDim(), shape.size()))) // (C2)
    return failure();
  int64_t numKeys = getNumKeys(), count = getInputs().size();
  if (numKeys < 1 || numKeys > count) // (C3)
    return emitOpError() << "num_keys: expected 1 to " << count
                         << ", the number of operands, but got " << numKeys;
  if (static_cast<int64_t>(getResults().size()) != count) // (C4)
    return emitOpError() << "expected " << count
                         << " results, one for each operand, but got "
                         << getResults().size();
  for (auto [i, input] : llvm::enumerate(getInputs()))
    if (failed(verifyResult(*this, i, shape,
                            tensorTypeOf(input).getElementType())))
      return failure();
  return success();
}

LogicalResult TopKOp::verify() {
  RankedTensorType type = tensorTypeOf(getInput());
  if (type.getRank() == 0) // (C1)
    return emitOpError() << "operand 0: expected at least one dimension";
  int64_t k = getK(), last = type.getShape().back();
  if (k < 1 || k > last)
    return emitOpError() << "k: expected 1 to " << last
                         << ", the last dimension's size, but got " << k;
  if (type.getElementType().isInteger(1)) // (C3)
    return emitOpError() << "operand 0: expected numbers but got i1";
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = k;
  if (failed(verifyResult(*this, 0, shape, type.getElementType()))) // (C2)
    return failure();
  return verifyResult(*this, 1, shape, IntegerType::get(getContext(), 32));
}

/// The laws of argmax and argmin.
static LogicalResult verifyPlace(Operation *op, Value input, int64_t dim,
                                 Value result) {
  RankedTensorType type = tensorTypeOf(input);
  if (failed(verifyDim(op, "dim", dim, type.getRank()))) // (C1)
    return failure();
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + dim);
  Type places = tensorTypeOf(result).getElementType();
  if (!places.isInteger(32) && !places.isInteger(64)) // (C2)
    return op->emitOpError()
           << "result 0: expected elements of type i32 or i64 but got "
           << places;
  if (failed(verifyShape(op, "result 0", result, shape)))
    return failure();
  int64_t size = type.getDimSize(dim); // (C3)
  if (size == 0)
    return op->emitOpError()
           << "operand 0 dim " << dim << ": expected at least one element";
  if (places.isInteger(32) && size > std::numeric_limits<int32_t>::max())
    return op->emitOpError() << "operand 0 dim " << dim << ": size " << size
                             << " is too large for places of type i32";
  return success();
}

LogicalResult ArgMaxOp::verify() {
  return verifyPlace(*this, getInput(), getDim(), getResult());
}
LogicalResult ArgMinOp::verify() {
  return verifyPlace(*this, getInput(), getDim(), getResult());
}

//===----------------------------------------------------------------------===//
// argmax and argmin as reductions of pairs
//===----------------------------------------------------------------------===//

/// What loses against every element, or is equal.
static Value worstValue(TensorBuilder &b, Type element, bool wantsLargest) {
  ReduceKind kind = wantsLargest ? ReduceKind::Max : ReduceKind::Min;
  auto scalar = RankedTensorType::get({}, element);
  return arith::ConstantOp::create(
      b, SplatElementsAttr::get(scalar, getIdentity(kind, element)));
}

namespace {
/// Whether the pair (x, i) goes before (y, j), and whether x and y are equal.
struct Order {
  Value before, same;
};
} // namespace

static Order compareFloats(ImplicitLocOpBuilder &b, bool wantsLargest, Value x,
                           Value y) {
  using P = arith::CmpFPredicate;
  auto compare = [&](P predicate, Value lhs, Value rhs) -> Value {
    return arith::CmpFOp::create(b, predicate, lhs, rhs);
  };
  auto both = [&](Value lhs, Value rhs) -> Value {
    return arith::AndIOp::create(b, lhs, rhs);
  };
  Value isNanX = compare(P::UNO, x, x), isNumberY = compare(P::ORD, y, y);
  Value wins = compare(wantsLargest ? P::OGT : P::OLT, x, y);
  Value areNan = both(isNanX, compare(P::UNO, y, y));
  return {arith::OrIOp::create(b, wins, both(isNanX, isNumberY)),
          arith::OrIOp::create(b, compare(P::OEQ, x, y), areNan)};
}

static Order compareIntegers(ImplicitLocOpBuilder &b, bool wantsLargest,
                             Value x, Value y) {
  using P = arith::CmpIPredicate;
  P wins = wantsLargest ? P::sgt : P::slt;
  return {arith::CmpIOp::create(b, wins, x, y),
          arith::CmpIOp::create(b, P::eq, x, y)};
}

/// Of two pairs (value, place) the better one; at equal values the one in
/// front. Commutative, also for NaN.
static void buildCombiner(ImplicitLocOpBuilder &b, Region &region,
                          bool wantsLargest, Type element, Type place) {
  OpBuilder::InsertionGuard guard(b);
  Type types[] = {element, place, element, place};
  SmallVector<Location> locations(4, b.getLoc());
  Block *block = b.createBlock(&region, region.end(), types, locations);
  Value x = block->getArgument(0), i = block->getArgument(1);
  Value y = block->getArgument(2), j = block->getArgument(3);
  Order order = isa<FloatType>(element)
                    ? compareFloats(b, wantsLargest, x, y)
                    : compareIntegers(b, wantsLargest, x, y);
  Value isInFront = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, i, j);
  Value wins = arith::OrIOp::create(
      b, order.before, arith::AndIOp::create(b, order.same, isInFront));
  Value values[] = {arith::SelectOp::create(b, wins, x, y),
                    arith::SelectOp::create(b, wins, i, j)};
  YieldOp::create(b, values);
}

static Value reduceToPlace(OpBuilder &builder, Operation *op, Value input,
                           int64_t dim, RankedTensorType result,
                           bool wantsLargest) {
  TensorBuilder b(builder, op);
  // Signed comparison has true below false.
  if (tensorTypeOf(input).getElementType().isInteger(1))
    input = b.convert(input, b.getI8Type());
  RankedTensorType type = tensorTypeOf(input);
  Type element = type.getElementType(), place = result.getElementType();
  Value places = b.iota(type.getShape(), place, dim);
  // Behind all places, so that a pair of inits is the combiner's identity.
  int64_t last =
      APInt::getSignedMaxValue(place.getIntOrFloatBitWidth()).getSExtValue();
  Value inits[] = {worstValue(b, element, wantsLargest),
                   b.splat(RankedTensorType::get({}, place), last)};
  Type results[] = {result.clone(element), result};
  auto reduce =
      ReduceRegionOp::create(b, results, ValueRange{input, places}, inits, dim);
  buildCombiner(b, reduce.getCombiner(), wantsLargest, element, place);
  return reduce.getResult(1);
}

SmallVector<Value> ArgMaxOp::decompose(OpBuilder &builder) {
  return {reduceToPlace(builder, *this, getInput(), getDim(),
                        tensorTypeOf(getResult()), /*wantsLargest=*/true)};
}

SmallVector<Value> ArgMinOp::decompose(OpBuilder &builder) {
  return {reduceToPlace(builder, *this, getInput(), getDim(),
                        tensorTypeOf(getResult()), /*wantsLargest=*/false)};
}
