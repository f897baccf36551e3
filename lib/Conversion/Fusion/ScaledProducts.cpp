// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ScaledProducts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "shoal/Dialect/Shoal/IR/FloatTypes.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace shoal;

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

static bool isSingleElement(Value tensor) {
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  return type && type.hasStaticShape() && type.getNumElements() == 1;
}

namespace {

/// What a scalar of a body is computed by and from.
struct ScalarSlice {
  /// In the order of the body.
  llvm::SetVector<Operation *> ops;
  llvm::SetVector<BlockArgument> inputs;

  /// False if it depends on anything else than inputs of one element.
  bool add(linalg::GenericOp op, Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() != op.getBody())
        return true;
      if (argument.getArgNumber() >= op.getNumDpsInputs() ||
          !isSingleElement(
              op.getDpsInputOperand(argument.getArgNumber())->get()))
        return false;
      inputs.insert(argument);
      return true;
    }
    Operation *made = value.getDefiningOp();
    if (made->getBlock() != op.getBody() || ops.contains(made))
      return true;
    if (made->getNumRegions() != 0 || !isMemoryEffectFree(made) ||
        isa<linalg::IndexOp>(made))
      return false;
    for (Value operand : made->getOperands())
      if (!add(op, operand))
        return false;
    ops.insert(made);
    return true;
  }
};

} // namespace

std::optional<ScaleFactor> shoal::matchScale(linalg::GenericOp op, Value x) {
  if (!x.hasOneUse())
    return std::nullopt;
  auto product = dyn_cast<arith::MulFOp>(*x.user_begin());
  if (!product || product->getBlock() != op.getBody())
    return std::nullopt;
  Value factor = product.getLhs() == x ? product.getRhs() : product.getLhs();
  if (factor == x || !ScalarSlice().add(op, factor))
    return std::nullopt;
  return ScaleFactor{product, factor};
}

/// f32 of a float of at most 32 bits.
static Value toSingle(OpBuilder &builder, Location loc, Value value) {
  Type f32 = builder.getF32Type();
  return value.getType() == f32
             ? value
             : arith::ExtFOp::create(builder, loc, f32, value).getResult();
}

/// The one element of a tensor, as one of rank 0.
static Value toRankZero(OpBuilder &builder, Location loc, Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (type.getRank() == 0)
    return tensor;
  return tensor::CollapseShapeOp::create(
      builder, loc, RankedTensorType::get({}, type.getElementType()), tensor,
      ArrayRef<ReassociationIndices>{});
}

Value shoal::makeScale(OpBuilder &builder, linalg::GenericOp op,
                       ArrayRef<Value> factors) {
  Location loc = op.getLoc();
  ScalarSlice slice;
  for (Value factor : factors)
    slice.add(op, factor);
  SmallVector<Value> inputs;
  for (BlockArgument input : slice.inputs)
    inputs.push_back(toRankZero(
        builder, loc, op.getDpsInputOperand(input.getArgNumber())->get()));
  auto type = RankedTensorType::get({}, builder.getF32Type());
  Value init = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                       type.getElementType());
  SmallVector<AffineMap> maps(inputs.size() + 1,
                              AffineMap::get(builder.getContext()));
  auto made = linalg::GenericOp::create(
      builder, loc, type, inputs, init, maps, ArrayRef<utils::IteratorType>{},
      [&](OpBuilder &nested, Location, ValueRange arguments) {
        IRMapping mapping;
        for (auto [input, argument] :
             llvm::zip(slice.inputs.getArrayRef(), arguments))
          mapping.map(input, argument);
        for (Operation *inner : slice.ops)
          nested.clone(*inner, mapping);
        Value product;
        for (Value factor : factors) {
          Value next = toSingle(nested, loc, mapping.lookupOrDefault(factor));
          product = product ? arith::MulFOp::create(nested, loc, product, next)
                                  .getResult()
                            : next;
        }
        linalg::YieldOp::create(nested, loc, product);
      });
  return made.getResult(0);
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

namespace {

/// A body that converts its one f8 input and scales it.
struct Dequantization {
  linalg::GenericOp op;
  Value input;
  SmallVector<Value> factors;
};

} // namespace

static bool isNarrow(Type type) {
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() <= 32;
}

/// From what is yielded back to the extension of an f8 input: roundings to
/// floats of 16 bits or more, and factors.
static std::optional<Dequantization> matchDequantization(Value tensor) {
  auto op = tensor.getDefiningOp<linalg::GenericOp>();
  if (!op || op.getNumDpsInits() != 1 ||
      op.getNumParallelLoops() != op.getNumLoops())
    return std::nullopt;
  Dequantization found{op, nullptr, {}};
  Value value = op.getBody()->getTerminator()->getOperand(0);
  while (Operation *made = value.getDefiningOp()) {
    if (made->getBlock() != op.getBody())
      return std::nullopt;
    if (auto product = dyn_cast<arith::MulFOp>(made)) {
      bool isLeft = ScalarSlice().add(op, product.getLhs());
      Value factor = isLeft ? product.getLhs() : product.getRhs();
      if (!isNarrow(factor.getType()) || !ScalarSlice().add(op, factor))
        return std::nullopt;
      found.factors.push_back(factor);
      value = isLeft ? product.getRhs() : product.getLhs();
    } else if (auto round = dyn_cast<arith::TruncFOp>(made);
               round && !isFloat8(round.getType())) {
      value = round.getIn();
    } else if (auto extend = dyn_cast<arith::ExtFOp>(made)) {
      value = extend.getIn();
    } else {
      return std::nullopt;
    }
  }
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != op.getBody() ||
      argument.getArgNumber() >= op.getNumDpsInputs() ||
      !isFloat8(argument.getType()))
    return std::nullopt;
  OpOperand *input = op.getDpsInputOperand(argument.getArgNumber());
  AffineMap map = op.getMatchingIndexingMap(input);
  if (map != op.getMatchingIndexingMap(op.getDpsInitOperand(0)) ||
      !map.isPermutation())
    return std::nullopt;
  found.input = input->get();
  return found;
}

std::optional<std::array<Dequantized, 2>>
shoal::matchDequantized(OpBuilder &builder, rt::EinsumOp product) {
  if (!isNarrow(getElementTypeOrSelf(product.getOutput().getType())))
    return std::nullopt;
  auto left = matchDequantization(product.getLhs());
  auto right = matchDequantization(product.getRhs());
  if (!left || !right)
    return std::nullopt;
  auto make = [&](const Dequantization &operand) {
    return Dequantized{operand.input,
                       operand.factors.empty()
                           ? Value()
                           : makeScale(builder, operand.op, operand.factors)};
  };
  return std::array<Dequantized, 2>{make(*left), make(*right)};
}

//===----------------------------------------------------------------------===//
// Obstacles
//===----------------------------------------------------------------------===//

std::optional<std::string> shoal::findObstacle(rt::EinsumOp product) {
  auto isE5M2 = [](Value operand) {
    return isa<Float8E5M2Type>(getElementTypeOrSelf(operand.getType()));
  };
  if (isE5M2(product.getLhs()) && isE5M2(product.getRhs()))
    return "both operands are f8E5M2";
  rt::MatrixSizes sizes = product.getMatrixSizes();
  const std::pair<StringRef, int64_t> counts[] = {
      {"rows", sizes.rows}, {"columns", sizes.columns}, {"sums", sizes.sums}};
  for (auto [name, count] : counts)
    if (count % 16 != 0)
      return (name + ": " + Twine(count) + " is not a multiple of 16").str();
  return std::nullopt;
}
