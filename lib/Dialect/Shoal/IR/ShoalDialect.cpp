// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "shoal/Dialect/Shoal/IR/Shoal.h"

using namespace mlir;
using namespace shoal;

#include "shoal/Dialect/Shoal/IR/ShoalDialect.cpp.inc"
#include "shoal/Dialect/Shoal/IR/ShoalEnums.cpp.inc"

void ShoalDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "shoal/Dialect/Shoal/IR/ShoalOps.cpp.inc"
      >();
}

Operation *ShoalDialect::materializeConstant(OpBuilder &builder,
                                             Attribute value, Type type,
                                             Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

/// `shoal.name`, `shoal.global_type` and `shoal.sharding` of an argument or
/// result.
static LogicalResult verifyValueAttribute(Operation *op, Type type,
                                          const Twine &place,
                                          NamedAttribute attribute) {
  if (attribute.getName() == kNameAttr) {
    if (!isa<StringAttr>(attribute.getValue()))
      return op->emitError()
             << place << ": expected " << kNameAttr << " to be a string";
    return success();
  }
  if (attribute.getName() == kGlobalTypeAttr) {
    auto global = dyn_cast<TypeAttr>(attribute.getValue());
    if (!global || !isa<RankedTensorType>(global.getValue()))
      return op->emitError() << place << ": expected " << kGlobalTypeAttr
                             << " to be a ranked tensor type";
    return success();
  }
  if (attribute.getName() != kShardingAttr)
    return op->emitError() << place << ": unknown attribute \""
                           << attribute.getName() << "\"";
  auto sharding = dyn_cast<ShardingAttr>(attribute.getValue());
  if (!sharding)
    return op->emitError() << place << ": expected " << kShardingAttr
                           << " to be a #shoal.sharding";
  return sharding.verifyFor(type, op,
                            [&]() { return op->emitError() << place << ": "; });
}

LogicalResult ShoalDialect::verifyRegionArgAttribute(Operation *op,
                                                     unsigned regionIndex,
                                                     unsigned argIndex,
                                                     NamedAttribute attribute) {
  Type type;
  if (auto function = dyn_cast<FunctionOpInterface>(op))
    type = function.getArgumentTypes()[argIndex];
  else
    type = op->getRegion(regionIndex).getArgument(argIndex).getType();
  return verifyValueAttribute(op, type, "argument " + Twine(argIndex),
                              attribute);
}

LogicalResult ShoalDialect::verifyRegionResultAttribute(
    Operation *op, unsigned, unsigned resultIndex, NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return op->emitError() << "result attributes are for functions";
  return verifyValueAttribute(op, function.getResultTypes()[resultIndex],
                              "result " + Twine(resultIndex), attribute);
}

LogicalResult ShoalDialect::verifyOperationAttribute(Operation *op,
                                                     NamedAttribute attribute) {
  if (attribute.getName() != kShardingsAttr)
    return success();
  auto shardings = dyn_cast<ArrayAttr>(attribute.getValue());
  if (!shardings || shardings.size() != op->getNumResults())
    return op->emitOpError() << "expected " << kShardingsAttr
                             << " to list one sharding per result";
  for (auto [i, entry] : llvm::enumerate(shardings)) {
    auto sharding = dyn_cast<ShardingAttr>(entry);
    if (!sharding)
      return op->emitOpError()
             << "result " << i << ": expected a #shoal.sharding";
    if (failed(sharding.verifyFor(op->getResult(i).getType(), op, [&]() {
          return op->emitOpError() << "result " << i << ": ";
        })))
      return failure();
  }
  return success();
}
