// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Models.h"
#include "shoal/Dialect/Shoal/IR/OrderingOps.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include <cmath>

using namespace mlir;
using namespace shoal;

namespace {

/// The last dimension is a reduction to k rows: each device selects its k, then
/// all together. Nothing else is made of candidates, so they are not left
/// partial.
struct TopK : FactorRuleOpInterface::ExternalModel<TopK, TopKOp> {
  static bool hasOwnLocalForm() { return true; }
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<TopKOp>(operation);
    RankedTensorType type = tensorTypeOf(op.getInput());
    int64_t rank = type.getRank(), last = rank - 1;
    FactorRuleBuilder builder({rank}, {rank, rank});
    for (int64_t d = 0; d < last; ++d)
      builder.addFactor(type.getDimSize(d), {d}, {d, d});
    builder.addFactor(type.getDimSize(last), {last}, {-1, -1},
                      FactorKind::Reduction);
    builder.addFactor(op.getK(), {-1}, {last, last}, FactorKind::Replicated);
    return builder.flops(type.getNumElements()).build();
  }
};

/// The sorted dimension stays whole. Where another one can take the split, the
/// two all_to_alls to there and back send 2 (p - 1) / p of a shard, which is
/// least. A single line is gathered, (p - 1) / p of it: a network of merges
/// between pairs of devices would send the shard log p (log p + 1) / 2 times,
/// less only from 8 devices on, in as many rounds that wait for each other.
struct Sort : FactorRuleOpInterface::ExternalModel<Sort, SortOp> {
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<SortOp>(operation);
    RankedTensorType type = tensorTypeOf(op.getInputs()[0]);
    unsigned count = op.getInputs().size();
    FactorRule rule =
        FactorRuleBuilder::elementwise(type.getShape(), count, count);
    rule.factors[op.getDim()].kind = FactorKind::Replicated;
    double size = std::max<int64_t>(type.getDimSize(op.getDim()), 2);
    rule.flops = type.getNumElements() * std::log2(size);
    return rule;
  }
};

} // namespace

void shoal::registerOrderingFactorRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    TopKOp::attachInterface<TopK>(*context);
    SortOp::attachInterface<Sort>(*context);
  });
}
