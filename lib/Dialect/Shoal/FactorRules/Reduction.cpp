// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Models.h"
#include "shoal/Dialect/Shoal/IR/ReductionOps.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"

using namespace mlir;
using namespace shoal;

namespace {

struct Reduce : FactorRuleOpInterface::ExternalModel<Reduce, ReduceOp> {
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<ReduceOp>(operation);
    RankedTensorType type = tensorTypeOf(op.getInput());
    FactorRuleBuilder builder({type.getRank()},
                              {tensorTypeOf(op.getResult()).getRank()});
    int64_t kept = 0;
    for (auto [dim, size] : llvm::enumerate(type.getShape())) {
      int64_t d = dim;
      if (llvm::is_contained(op.getDims(), d))
        builder.addFactor(size, {d}, {-1}, FactorKind::Reduction, op.getKind());
      else
        builder.addFactor(size, {d}, {kept++});
    }
    if (op.getKind() == ReduceKind::Sum)
      builder.linearIn({0});
    return builder.flops(type.getNumElements()).build();
  }
};

/// Each device scans its rows; the totals of the devices before it come by an
/// exchange of one row.
struct Cumulative
    : FactorRuleOpInterface::ExternalModel<Cumulative, CumulativeOp> {
  static bool hasOwnLocalForm() { return true; }
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<CumulativeOp>(operation);
    RankedTensorType type = tensorTypeOf(op.getInput());
    FactorRule rule =
        FactorRuleBuilder::elementwise(type.getShape(), /*numOperands=*/1);
    rule.gathers.push_back({static_cast<unsigned>(op.getDim()), /*result=*/0});
    if (op.getKind() == ReduceKind::Sum)
      rule.linearIn.push_back({0});
    rule.flops = type.getNumElements();
    return rule;
  }
};

struct ReduceRegion
    : FactorRuleOpInterface::ExternalModel<ReduceRegion, ReduceRegionOp> {
  static bool hasOwnLocalForm() { return true; }
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<ReduceRegionOp>(operation);
    RankedTensorType type = tensorTypeOf(op.getInputs()[0]);
    size_t count = op.getInputs().size();
    int64_t rank = type.getRank(), kept = 0;
    SmallVector<int64_t> ranks(count, rank);
    ranks.append(count, 0);
    FactorRuleBuilder builder(
        ranks, SmallVector<int64_t>(count, rank - op.getDims().size()));
    for (int64_t d = 0; d < rank; ++d) {
      SmallVector<int64_t> operands(count, d), results(count, -1);
      operands.append(count, -1);
      bool isReduced = llvm::is_contained(op.getDims(), d);
      if (!isReduced)
        results.assign(count, kept++);
      builder.addFactor(type.getDimSize(d), operands, results,
                        isReduced ? FactorKind::Reduction
                                  : FactorKind::Parallel);
    }
    double steps = llvm::range_size(op.getCombiner().front());
    return builder.flops(type.getNumElements() * steps).build();
  }
};

} // namespace

void shoal::registerReductionFactorRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    ReduceOp::attachInterface<Reduce>(*context);
    CumulativeOp::attachInterface<Cumulative>(*context);
    ReduceRegionOp::attachInterface<ReduceRegion>(*context);
  });
}
