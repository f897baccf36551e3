// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SentParameters.h"
#include "mlir/Interfaces/CastInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"
#include "shoal/Interfaces/PartitionInterfaces.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::remat;

static bool sends(Operation *op) {
  auto collective = dyn_cast<spmd::CollectiveOpInterface>(op);
  return collective && collective.communicates();
}

/// Whether each element of the results is one of the operands, or a constant;
/// be it of another type.
static bool movesOnly(Operation *op) {
  if (!isPure(op) || op->getNumRegions() > 0)
    return false;
  if (auto collective = dyn_cast<spmd::CollectiveOpInterface>(op))
    return !collective.reduces();
  if (isa<CastOpInterface>(op) || op->hasTrait<OpTrait::ConstantLike>())
    return true;
  if (op->hasTrait<OpTrait::Elementwise>())
    return false; // rules count products and sums alone
  auto interface = dyn_cast<FactorRuleOpInterface>(op);
  return interface && interface.getFactorRule().flops == 0;
}

/// Where a slice begins, or the number of a device.
static bool isPlace(mlir::Value value) {
  auto type = dyn_cast<ShapedType>(value.getType());
  return type && type.hasRank() && type.getRank() == 0 &&
         type.getElementType().isInteger();
}

SentParameters::Origin SentParameters::originOf(mlir::Value value) {
  auto known = origins.find(value);
  if (known != origins.end())
    return known->second;
  return origins[value] = findOrigin(value);
}

SentParameters::Origin SentParameters::findOrigin(mlir::Value value) {
  if (!isa<FloatType>(getElementTypeOrSelf(value.getType())))
    return Origin::Computed;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return isa<FunctionOpInterface>(argument.getOwner()->getParentOp())
               ? Origin::Parameter
               : Origin::Computed;
  Operation *maker = value.getDefiningOp();
  if (auto forwarding = dyn_cast<ForwardingOpInterface>(maker);
      forwarding && forwarding.forwardsOperands())
    return originOf(maker->getOperand(cast<OpResult>(value).getResultNumber()));
  if (!movesOnly(maker))
    return Origin::Computed;
  Origin origin = sends(maker) ? Origin::SentParameter : Origin::Parameter;
  for (mlir::Value operand : maker->getOperands())
    if (!isPlace(operand))
      origin = std::max(origin, originOf(operand));
  return origin;
}
