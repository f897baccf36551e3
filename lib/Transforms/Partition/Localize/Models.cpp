// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The ops whose local form is more than the same op on local types.

#include "Models.h"
#include "Shapes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "shoal/Dialect/Shoal/IR/MeshConversion.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"
#include "shoal/Transforms/Partition/Localizer.h"
#include "shoal/Transforms/Partition/Passes.h"

using namespace mlir;
using namespace shoal;

namespace {

/// An annotation's operand has been brought to the sharding that it asks for.
struct Constraint
    : LocalizeOpInterface::ExternalModel<Constraint, ShardingConstraintOp> {
  LogicalResult localize(Operation *, Localizer &localizer,
                         SmallVectorImpl<Value> &results) const {
    results.push_back(localizer.operands[0]);
    return success();
  }
};

struct Constant
    : LocalizeOpInterface::ExternalModel<Constant, arith::ConstantOp> {
  LogicalResult localize(Operation *op, Localizer &localizer,
                         SmallVectorImpl<Value> &results) const {
    auto splat =
        dyn_cast<SplatElementsAttr>(cast<arith::ConstantOp>(op).getValue());
    if (!splat) {
      results.push_back(localizer.cloneLocally()->getResult(0));
      return success();
    }
    results.push_back(localizer.splat(localizer.localResultType(),
                                      splat.getSplatValue<Attribute>()));
    return success();
  }
};

/// The device's first row is added where the counted dimension is split.
struct Iota : LocalizeOpInterface::ExternalModel<Iota, IotaOp> {
  LogicalResult localize(Operation *op, Localizer &l,
                         SmallVectorImpl<Value> &results) const {
    Value local = l.cloneLocally()->getResult(0);
    int64_t dim = cast<IotaOp>(op).getDim();
    ArrayRef<AxisId> axes = l.resultShardings[0].dims[dim];
    if (!axes.empty())
      local = addFirstRow(local, l.firstRow(axes, shapeOf(local)[dim]), l);
    results.push_back(local);
    return success();
  }

private:
  static Value addFirstRow(Value local, Value first, Localizer &l) {
    auto type = cast<RankedTensorType>(local.getType());
    auto scalar = RankedTensorType::get({}, type.getElementType());
    if (isa<FloatType>(type.getElementType())) {
      first = arith::SIToFPOp::create(l.builder, l.getLoc(), scalar, first);
      return arith::AddFOp::create(l.builder, l.getLoc(), local,
                                   l.spread(first, type));
    }
    unsigned width = type.getElementTypeBitWidth();
    if (width > 32)
      first = arith::ExtSIOp::create(l.builder, l.getLoc(), scalar, first);
    else if (width < 32)
      first = arith::TruncIOp::create(l.builder, l.getLoc(), scalar, first);
    return arith::AddIOp::create(l.builder, l.getLoc(), local,
                                 l.spread(first, type));
  }
};

/// Padding of reduced dimensions must not count. Sums stay partial; what else
/// was reduced over a split dimension is finished here.
struct Reduce : LocalizeOpInterface::ExternalModel<Reduce, ReduceOp> {
  LogicalResult localize(Operation *operation, Localizer &l,
                         SmallVectorImpl<Value> &results) const {
    auto op = cast<ReduceOp>(operation);
    RankedTensorType type = l.localResultType();
    Value masked = l.maskPadding(
        l.operands[0], shapeOf(op.getInput()), l.operandShardings[0],
        op.getDims(), reductionIdentity(op.getKind(), type.getElementType()));
    Value local = ReduceOp::create(l.builder, l.getLoc(), type, op.getKind(),
                                   masked, op.getDims());
    AxisList axes;
    for (int64_t dim : op.getDims())
      llvm::append_range(axes, l.operandShardings[0].dims[dim]);
    if (op.getKind() != ReduceKind::Sum && !axes.empty()) {
      auto why = l.builder.getStringAttr(
          (stringifyReduceKind(op.getKind()) + " over a split dimension")
              .str());
      local = spmd::AllReduceOp::create(
          l.builder, l.getLoc(), type, op.getKindAttr(), l.meshSymbol,
          toAxesAttr(axes, l.mesh, op.getContext()), local, why);
    }
    results.push_back(local);
    return success();
  }
};

} // namespace

void shoal::registerLocalizeModels(DialectRegistry &registry) {
  registerContractionLocalizeModels(registry);
  registerGatherLocalizeModels(registry);
  registerScatterLocalizeModels(registry);
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    ShardingConstraintOp::attachInterface<Constraint>(*context);
    IotaOp::attachInterface<Iota>(*context);
    ReduceOp::attachInterface<Reduce>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    arith::ConstantOp::attachInterface<Constant>(*context);
  });
  registerWindowLocalizeModels(registry);
  registerSelectAndScatterLocalizeModel(registry);
  registerOrderingLocalizeModels(registry);
  registerStructureLocalizeModels(registry);
  registerReshapeLocalizeModels(registry);
  registerCustomCallLocalizeModel(registry);
}
