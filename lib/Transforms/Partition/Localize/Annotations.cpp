// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Models.h"
#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"
#include "shoal/Transforms/Partition/Localizer.h"

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

} // namespace

void shoal::registerAnnotationsLocalizeModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    ShardingConstraintOp::attachInterface<Constraint>(*context);
  });
}
