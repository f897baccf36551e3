// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ops that control the flow have joins instead of factors; barriers remain.

#include "Models.h"
#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"

using namespace mlir;
using namespace shoal;

namespace {

/// Each operand and its result have factors of their own.
struct Barrier
    : FactorRuleOpInterface::ExternalModel<Barrier, OptimizationBarrierOp> {
  FactorRule getFactorRule(Operation *op) const {
    FactorRule rule;
    for (Value input : op->getOperands()) {
      DimFactors &dims = rule.operands.emplace_back();
      for (int64_t size : cast<RankedTensorType>(input.getType()).getShape()) {
        dims.push_back({unsigned(rule.factors.size())});
        rule.factors.push_back({size, FactorKind::Parallel, {}, false});
      }
    }
    rule.results = {rule.operands.begin(), rule.operands.end()};
    rule.linearIn.push_back(
        llvm::to_vector<2>(llvm::seq<unsigned>(op->getNumOperands())));
    return rule;
  }
};

} // namespace

void shoal::registerControlFlowFactorRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    OptimizationBarrierOp::attachInterface<Barrier>(*context);
  });
}
