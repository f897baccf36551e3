// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Models.h"
#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"

using namespace mlir;
using namespace shoal;

namespace {

template <typename Op>
struct Identity : FactorRuleOpInterface::ExternalModel<Identity<Op>, Op> {
  FactorRule getFactorRule(Operation *op) const {
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    return FactorRuleBuilder::elementwise(type.getShape(), /*numOperands=*/1);
  }
};

} // namespace

void shoal::registerAnnotationsFactorRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    ReplicateOp::attachInterface<Identity<ReplicateOp>>(*context);
    SplitOp::attachInterface<Identity<SplitOp>>(*context);
    ShardOp::attachInterface<Identity<ShardOp>>(*context);
    ShardingConstraintOp::attachInterface<Identity<ShardingConstraintOp>>(
        *context);
  });
}
