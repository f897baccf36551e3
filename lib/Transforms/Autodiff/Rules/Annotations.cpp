// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Annotations say where values lie, and a gradient lies best with its value:
// but that is for the assignment to weigh, as a sum that is still partial may
// be cheaper to keep. See docs/guide/Autodiff.md.

#include "Rules.h"
#include "shoal/Dialect/Shoal/IR/Addends.h"
#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"

using namespace mlir;
using namespace shoal;

namespace {

template <typename Op>
struct Annotation
    : DifferentiableOpInterface::ExternalModel<Annotation<Op>, Op> {
  LogicalResult buildVjp(Operation *, Vjp &vjp) const {
    vjp.add(0, vjp.cotangent());
    return success();
  }
};

struct ShardingConstraint
    : DifferentiableOpInterface::ExternalModel<ShardingConstraint,
                                               ShardingConstraintOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto op = cast<ShardingConstraintOp>(operation);
    vjp.add(0,
            ShardingConstraintOp::create(vjp.b, op.getType(), vjp.cotangent(),
                                         withoutPartial(op.getSharding()),
                                         /*hint=*/true));
    return success();
  }
};

} // namespace

void shoal::registerAnnotationsDerivativeRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    ReplicateOp::attachInterface<Annotation<ReplicateOp>>(*context);
    SplitOp::attachInterface<Annotation<SplitOp>>(*context);
    ShardOp::attachInterface<Annotation<ShardOp>>(*context);
    ShardingConstraintOp::attachInterface<ShardingConstraint>(*context);
    noGradient<StopGradientOp>(context, [] { return "it says so"; });
    noGradient<MeshOp>(context, [] { return "it has no results"; });
    refuse<ReshardOp>(context, [] {
      return "is of a program that has been assigned to devices: gradients "
             "come before";
    });
  });
}
