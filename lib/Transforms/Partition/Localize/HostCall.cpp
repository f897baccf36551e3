// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// One device calls the host and the others get what it got.

#include "Models.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "shoal/Dialect/Shoal/IR/HostCallOps.h"
#include "shoal/Dialect/Shoal/IR/ManualOps.h"
#include "shoal/Dialect/Shoal/IR/MeshConversion.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"
#include "shoal/Transforms/Partition/Localizer.h"

using namespace mlir;
using namespace shoal;

/// The axes along which devices hold the same and one speaks for all.
static AxisList findSharedAxes(const Localizer &l) {
  AxisList manual = manualAxesAround(l.op, l.mesh), axes;
  for (AxisId axis = 0; axis < l.mesh.axes.size(); ++axis)
    if (l.mesh.axes[axis].size > 1 && !llvm::is_contained(manual, axis))
      axes.push_back(axis);
  return axes;
}

/// `result` of the device that called: the others have what a sum does not
/// change.
static Value shareResult(Localizer &l, Value result, ArrayRef<AxisId> axes) {
  MLIRContext *context = l.builder.getContext();
  bool isBool = getElementTypeOrSelf(result).isInteger(1);
  return spmd::AllReduceOp::create(
      l.builder, l.getLoc(), result.getType(),
      ReduceKindAttr::get(context, isBool ? ReduceKind::Or : ReduceKind::Sum),
      l.meshSymbol, toAxesAttr(axes, l.mesh, context), result,
      l.builder.getStringAttr("the host's answer, which one device got"));
}

namespace {

template <typename Op>
struct HostLocal : LocalizeOpInterface::ExternalModel<HostLocal<Op>, Op> {
  LogicalResult localize(Operation *operation, Localizer &l,
                         SmallVectorImpl<Value> &results) const {
    auto op = cast<Op>(operation);
    AxisList axes;
    if (!op.getOnShards())
      axes = findSharedAxes(l);
    Value speaks;
    if (!axes.empty()) {
      Value index = l.axisIndex(axes);
      auto type = cast<RankedTensorType>(index.getType());
      speaks = arith::CmpIOp::create(
          l.builder, l.getLoc(), arith::CmpIPredicate::eq, index,
          l.splat(type, l.builder.getI32IntegerAttr(0)));
    }
    auto local = cast<Op>(l.cloneLocally());
    // Devices differ in what it gives, which no analysis sees in its operands.
    local->removeAttr("pure");
    if (speaks)
      local.getWhenMutable().assign(speaks);
    for (Value result : local->getResults())
      results.push_back(speaks ? shareResult(l, result, axes) : result);
    return success();
  }
};

} // namespace

void shoal::registerHostCallLocalizeModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    PrintOp::attachInterface<HostLocal<PrintOp>>(*context);
    HostCallOp::attachInterface<HostLocal<HostCallOp>>(*context);
  });
}
