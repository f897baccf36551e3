// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Expansion.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "shoal/Interfaces/PartitionInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace shoal;

/// More are not looked at.
static constexpr size_t kMostOps = 64;

static int64_t countElements(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

static bool isElementByElement(Operation *op) {
  if (!isPure(op) || op->getNumRegions() > 0 ||
      isa<math::MathDialect>(op->getDialect()))
    return false;
  if (op->hasTrait<OpTrait::Elementwise>() ||
      op->hasTrait<OpTrait::ConstantLike>())
    return true;
  auto interface = dyn_cast<FactorRuleOpInterface>(op);
  if (!interface)
    return false;
  FactorRule rule = interface.getFactorRule();
  return rule.windows.empty() && rule.gathers.empty() && rule.isParallel();
}

bool shoal::isExpansion(Value value) {
  Operation *maker = value.getDefiningOp();
  if (!maker || !isElementByElement(maker))
    return false;
  int64_t whole = countElements(value), elements = 0;
  llvm::SmallSetVector<Value, 16> sources;
  llvm::SmallSetVector<Operation *, 16> ops;
  ops.insert(maker);
  for (size_t next = 0; next < ops.size(); ++next)
    for (Value operand : ops[next]->getOperands()) {
      Operation *op = operand.getDefiningOp();
      if (operand.getParentBlock() != maker->getBlock())
        continue; // is there anyway
      if (op && isElementByElement(op)) {
        if (ops.insert(op) && ops.size() > kMostOps)
          return false;
      } else if (sources.insert(operand)) {
        elements += countElements(operand);
        if (elements >= whole)
          return false;
      }
    }
  return true;
}
