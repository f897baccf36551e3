// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Models.h"
#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"

using namespace mlir;

namespace shoal::reference {

template <typename Op>
static FailureOr<Tensors> evaluateIdentity(Op, ArrayRef<Tensor> operands) {
  return Tensors{operands[0]};
}

template <typename... Ops>
static void attachIdentity(MLIRContext *context) {
  (attach<Ops, evaluateIdentity<Ops>>(context), ...);
}

void registerAnnotationsModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    attachIdentity<ReplicateOp, SplitOp, ShardOp, ShardingConstraintOp,
                   ReshardOp>(context);
  });
}

} // namespace shoal::reference
