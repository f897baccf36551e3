// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Models.h"
#include "shoal/Dialect/Shoal/IR/HostCallOps.h"

using namespace mlir;
using namespace shoal;

namespace {

/// Nothing is split and no sum is partial; on shards all may be split as it is.
template <typename Op>
struct HostRule : FactorRuleOpInterface::ExternalModel<HostRule<Op>, Op> {
  static bool hasOwnLocalForm() { return true; }

  FactorRule getFactorRule(Operation *op) const {
    FactorRule rule;
    bool onShards = cast<Op>(op).getOnShards();
    for (Value operand : op->getOperands())
      rule.operands.push_back(addFactors(rule, operand, onShards));
    for (Value result : op->getResults())
      rule.results.push_back(addFactors(rule, result, onShards));
    return rule;
  }

private:
  static DimFactors addFactors(FactorRule &rule, Value value, bool onShards) {
    DimFactors dims;
    for (int64_t size : cast<RankedTensorType>(value.getType()).getShape()) {
      dims.push_back({unsigned(rule.factors.size())});
      Factor factor;
      factor.size = size;
      factor.kind = onShards ? FactorKind::Parallel : FactorKind::Replicated;
      factor.needsEvenSplit = true; // the host sees no padding
      rule.factors.push_back(factor);
    }
    return dims;
  }
};

} // namespace

void shoal::registerHostCallFactorRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    PrintOp::attachInterface<HostRule<PrintOp>>(*context);
    HostCallOp::attachInterface<HostRule<HostCallOp>>(*context);
  });
}
