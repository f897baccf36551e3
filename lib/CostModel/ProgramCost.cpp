// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/CostModel/ProgramCost.h"
#include "FilledRows.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Location.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Dialect/Shoal/IR/Axes.h"
#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"
#include "shoal/Dialect/Shoal/IR/NamePath.h"
#include "shoal/Dialect/Shoal/IR/Roles.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace shoal;

int64_t shoal::sizeInBytes(Type type) {
  auto shaped = cast<ShapedType>(type);
  unsigned bits = shaped.getElementType().getIntOrFloatBitWidth();
  int64_t bytes = 0;
  // More than any memory has, of which sums are still numbers.
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() >> 10;
  bool overflows = llvm::MulOverflow(
      shaped.getNumElements(), static_cast<int64_t>(llvm::divideCeil(bits, 8u)),
      bytes);
  return overflows ? kMost : std::min(bytes, kMost);
}

int64_t shoal::tensorBytes(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() ? sizeInBytes(type) : 0;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

std::string shoal::sourcePlace(Location loc) {
  auto file = loc->findInstanceOf<FileLineColLoc>();
  if (!file)
    return "";
  return llvm::formatv("{0}:{1}:{2}", file.getFilename().getValue(),
                       file.getLine(), file.getColumn());
}

static CollectiveCost describe(spmd::CollectiveOpInterface op) {
  CollectiveCost cost;
  cost.op = op;
  cost.runs = countRuns(op);
  cost.kind = op->getName().stripDialect();
  cost.axes = op.describeAxes();
  MeshOp mesh = lookupMesh(op, op.getMeshAttr());
  cost.groupSize = sizeOf(op.getGroupAxes(), mesh.getMesh());
  cost.roles = describeRoles(op.getGroupAxes(), mesh);
  cost.layer = namePath(op->getLoc());
  cost.bytes = op.countBytes();
  cost.location = sourcePlace(op->getLoc());
  if (auto why = op->getAttrOfType<StringAttr>("why"))
    cost.reason = why.getValue();
  return cost;
}

SmallVector<CollectiveCost> shoal::listCollectives(Operation *root) {
  SmallVector<CollectiveCost> list;
  llvm::StringMap<int64_t> streams;
  root->walk([&](spmd::CollectiveOpInterface op) {
    if (!op.communicates())
      return;
    CollectiveCost &cost = list.emplace_back(describe(op));
    cost.stream = streams.try_emplace(cost.axes, streams.size()).first->second;
  });
  return list;
}

int64_t shoal::startingBytes(ArrayRef<CollectiveCost> collectives,
                             const Machine &machine) {
  double runs = 0, sent = 0;
  for (const CollectiveCost &collective : collectives) {
    runs += collective.runs;
    sent += double(collective.runs) * collective.bytes;
  }
  double bytes = runs * latencyBytes(machine);
  return bytes > sent ? int64_t(bytes) : 0;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// What is only summed is linear in one set.
bool shoal::isProduct(const FactorRule &rule) {
  return rule.linearIn.size() > 1 && rule.flops > 0;
}

/// The devices that each run the op in a global program: what is written for
/// one device along some axes has a device's shapes along them.
static double countDevices(Operation *op) {
  double devices = 1;
  for (auto around = op->getParentOfType<BoundaryOpInterface>(); around;
       around = around->getParentOfType<BoundaryOpInterface>()) {
    MeshOp mesh = lookupMesh(around, around.getManualMesh());
    devices *= sizeOf(
        llvm::to_vector(around.getManualAxisRefs().getAsRange<AxisRefAttr>()),
        mesh.getMesh());
  }
  return devices;
}

ArithmeticCost
shoal::countArithmetic(Operation *root,
                       llvm::function_ref<bool(Operation *)> isCounted) {
  ArithmeticCost cost;
  root->walk([&](FactorRuleOpInterface op) {
    if (!isCounted(op))
      return;
    FactorRule rule = op.getFactorRule();
    double most = rule.flops * countRuns(op) * countDevices(op);
    double flops = most * filledPart(op);
    cost.flops += flops;
    cost.mostFlops += most;
    if (isProduct(rule)) {
      cost.einsumFlops += flops;
      cost.mostEinsumFlops += most;
    }
  });
  return cost;
}
