// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ops along a dimension: cumulative, top_k, sort, reduce_region. And
// bitcast_convert.

#include "shoal/Dialect/Shoal/FactorRules/FactorRules.h"
#include "shoal/Dialect/Shoal/IR/ElementwiseOps.h"
#include "shoal/Dialect/Shoal/IR/OrderingOps.h"
#include "shoal/Dialect/Shoal/IR/ReductionOps.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace mlir;
using namespace shoal;

namespace {

/// Each device scans its rows; the totals of the devices before it come by an
/// exchange of one row.
struct Cumulative
    : FactorRuleOpInterface::ExternalModel<Cumulative, CumulativeOp> {
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

/// The last dimension is a reduction to k rows: each device selects its k, then
/// all together. Nothing else is made of candidates, so they are not left
/// partial.
struct TopK : FactorRuleOpInterface::ExternalModel<TopK, TopKOp> {
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

struct ReduceRegion
    : FactorRuleOpInterface::ExternalModel<ReduceRegion, ReduceRegionOp> {
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

/// The bits of an element stay on one device.
struct BitcastConvert
    : FactorRuleOpInterface::ExternalModel<BitcastConvert, BitcastConvertOp> {
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<BitcastConvertOp>(operation);
    RankedTensorType from = tensorTypeOf(op.getInput());
    RankedTensorType to = tensorTypeOf(op.getResult());
    int64_t shared = std::min(from.getRank(), to.getRank());
    FactorRuleBuilder builder({from.getRank()}, {to.getRank()});
    for (int64_t d = 0; d < shared; ++d)
      builder.addFactor(from.getDimSize(d), {d}, {d});
    if (from.getRank() > shared)
      builder.addFactor(from.getShape().back(), {shared}, {-1},
                        FactorKind::Replicated);
    if (to.getRank() > shared)
      builder.addFactor(to.getShape().back(), {-1}, {shared},
                        FactorKind::Replicated);
    return builder.build();
  }
};

} // namespace

void shoal::registerOrderingFactorRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    CumulativeOp::attachInterface<Cumulative>(*context);
    TopKOp::attachInterface<TopK>(*context);
    SortOp::attachInterface<Sort>(*context);
    ReduceRegionOp::attachInterface<ReduceRegion>(*context);
    BitcastConvertOp::attachInterface<BitcastConvert>(*context);
  });
}
