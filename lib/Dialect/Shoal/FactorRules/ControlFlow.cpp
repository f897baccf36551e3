// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ops that control the flow have joins instead of factors. What forwards its
// operands remains: barriers, and the marks of what is kept for gradients.

#include "Models.h"
#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"

using namespace mlir;
using namespace shoal;

namespace {

/// Each operand and its result have factors of their own.
template <typename Op>
struct Forwarding : FactorRuleOpInterface::ExternalModel<Forwarding<Op>, Op> {
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

template <typename... Ops>
void attach(MLIRContext *context) {
  (Ops::template attachInterface<Forwarding<Ops>>(*context), ...);
}

} // namespace

void shoal::registerControlFlowFactorRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    attach<RematBoundaryOp, CheckpointNameOp, OptimizationBarrierOp>(context);
  });
}
