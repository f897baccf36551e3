// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Patterns.h"
#include "Combiner.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "shoal/CostModel/ProgramCost.h"

using namespace mlir;
using namespace shoal;

ProgramNumbering::ProgramNumbering(ModuleOp module) {
  for (const CollectiveCost &collective : listCollectives(module)) {
    collectives.insert({collective.op, collectives.size()});
    streams.push_back(collective.stream);
  }
}

Value shoal::makeEmpty(OpBuilder &builder, Location loc,
                       ArrayRef<int64_t> shape, Type elementType) {
  return tensor::EmptyOp::create(builder, loc, shape, elementType);
}

Value shoal::makeFilled(OpBuilder &builder, Location loc,
                        ArrayRef<int64_t> shape, TypedAttr value) {
  Value scalar = arith::ConstantOp::create(builder, loc, value);
  Value empty = makeEmpty(builder, loc, shape, value.getType());
  return linalg::FillOp::create(builder, loc, scalar, empty).getResult(0);
}

Value shoal::makeParallel(
    OpBuilder &builder, Location loc, RankedTensorType type, ValueRange inputs,
    ArrayRef<AffineMap> maps,
    llvm::function_ref<Value(OpBuilder &, ValueRange)> body) {
  unsigned rank = type.getRank();
  SmallVector<AffineMap> allMaps(maps);
  allMaps.push_back(builder.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  Value init = makeEmpty(builder, loc, type.getShape(), type.getElementType());
  return linalg::GenericOp::create(
             builder, loc, type, inputs, init, allMaps, iterators,
             [&](OpBuilder &nested, Location nestedLoc, ValueRange args) {
               linalg::YieldOp::create(nested, nestedLoc,
                                       body(nested, args.drop_back()));
             })
      .getResult(0);
}

Value shoal::makeSpread(OpBuilder &builder, Location loc, Value scalar,
                        RankedTensorType type) {
  DenseElementsAttr constant;
  if (matchPattern(scalar, m_Constant(&constant)) &&
      constant.getElementType() == type.getElementType())
    return makeFilled(builder, loc, type.getShape(),
                      constant.getSplatValue<TypedAttr>());
  auto nowhere = AffineMap::get(type.getRank(), 0, builder.getContext());
  return makeParallel(builder, loc, type, scalar, nowhere,
                      [&](OpBuilder &nested, ValueRange args) {
                        return convertTo(nested, loc, args[0],
                                         type.getElementType());
                      });
}

Value shoal::makeMoved(OpBuilder &builder, Location loc, RankedTensorType type,
                       Value input, AffineMap map) {
  return makeParallel(builder, loc, type, input, map,
                      [](OpBuilder &, ValueRange args) { return args[0]; });
}

Value shoal::makeOutput(OpBuilder &builder, Location loc, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return makeEmpty(builder, loc, tensor.getShape(), tensor.getElementType());
}

SmallVector<Value> shoal::makeOutputs(OpBuilder &builder, Location loc,
                                      TypeRange types) {
  return llvm::map_to_vector(
      types, [&](Type type) { return makeOutput(builder, loc, type); });
}
