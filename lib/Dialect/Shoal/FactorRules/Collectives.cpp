// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Collectives over the manual axes of a region, as ops of a program that is
// partitioned over the others.

#include "Models.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::spmd;

/// A factor for each dimension that the collective does not touch: what it does
/// to the others it does to every part of these. All are linear but reductions
/// other than sums.
static FactorRule makeRule(Operation *op,
                           llvm::function_ref<bool(int64_t)> touches,
                           bool isLinear = true) {
  auto input = cast<RankedTensorType>(op->getOperand(0).getType());
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  FactorRule rule;
  DimFactors dims(input.getRank());
  for (int64_t d = 0; d < input.getRank(); ++d) {
    if (touches(d) || input.getDimSize(d) != result.getDimSize(d))
      continue;
    dims[d].push_back(rule.factors.size());
    Factor factor;
    factor.size = input.getDimSize(d);
    rule.factors.push_back(factor);
  }
  rule.operands.push_back(dims);
  rule.results.push_back(dims);
  if (isLinear)
    rule.linearIn.push_back({0});
  return rule;
}

namespace {

struct AxisIndex
    : FactorRuleOpInterface::ExternalModel<AxisIndex, AxisIndexOp> {
  FactorRule getFactorRule(Operation *) const {
    FactorRule rule;
    rule.results.emplace_back();
    return rule;
  }
};

/// all_slice, all_gather, reduce_scatter: `axes` lists what is done by
/// dimension.
template <typename Op>
struct ByDim : FactorRuleOpInterface::ExternalModel<ByDim<Op>, Op> {
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<Op>(operation);
    bool isLinear = true;
    if constexpr (std::is_same_v<Op, ReduceScatterOp>)
      isLinear = op.getKind() == ReduceKind::Sum;
    return makeRule(
        op, [&](int64_t d) { return !cast<AxesAttr>(op.getAxes()[d]).empty(); },
        isLinear);
  }
};

struct AllReduce
    : FactorRuleOpInterface::ExternalModel<AllReduce, AllReduceOp> {
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<AllReduceOp>(operation);
    return makeRule(
        op, [](int64_t) { return false; }, op.getKind() == ReduceKind::Sum);
  }
};

struct AllToAll : FactorRuleOpInterface::ExternalModel<AllToAll, AllToAllOp> {
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<AllToAllOp>(operation);
    return makeRule(op, [&](int64_t d) {
      return llvm::any_of(
          op.getMoves().getAsRange<MoveAttr>(), [&](MoveAttr move) {
            return move.getSourceDim() == d || move.getTargetDim() == d;
          });
    });
  }
};

struct HaloExchange
    : FactorRuleOpInterface::ExternalModel<HaloExchange, HaloExchangeOp> {
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<HaloExchangeOp>(operation);
    auto dim = static_cast<int64_t>(op.getDim());
    return makeRule(op, [&](int64_t d) { return d == dim; });
  }
};

/// Takes devices that differ on axes it does not name for holders of the same
/// block, so they must be: nothing is split, and there are no partial sums.
struct Exchange : FactorRuleOpInterface::ExternalModel<Exchange, ExchangeOp> {
  FactorRule getFactorRule(Operation *op) const {
    return makeRule(op, [](int64_t) { return true; }, /*isLinear=*/false);
  }
};

/// What follows the rows may be split; offsets and sizes are whole. Rows that
/// stay and rows that come are addends of one sum.
struct RaggedAllToAll
    : FactorRuleOpInterface::ExternalModel<RaggedAllToAll, RaggedAllToAllOp> {
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<RaggedAllToAllOp>(operation);
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(op.getResult().getType()).getShape();
    int64_t rank = shape.size();
    FactorRuleBuilder rule({rank, rank, 1, 1, 1, 1}, {rank});
    for (int64_t d = 1; d < rank; ++d)
      rule.addFactor(shape[d], {d, d, -1, -1, -1, -1}, {d});
    return rule.linearIn({0, 1}).build();
  }
};

struct Permute
    : FactorRuleOpInterface::ExternalModel<Permute, CollectivePermuteOp> {
  FactorRule getFactorRule(Operation *op) const {
    return makeRule(op, [](int64_t) { return false; });
  }
};

} // namespace

void shoal::registerCollectivesFactorRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, SpmdDialect *) {
    AxisIndexOp::attachInterface<AxisIndex>(*context);
    AllSliceOp::attachInterface<ByDim<AllSliceOp>>(*context);
    AllGatherOp::attachInterface<ByDim<AllGatherOp>>(*context);
    ReduceScatterOp::attachInterface<ByDim<ReduceScatterOp>>(*context);
    AllReduceOp::attachInterface<AllReduce>(*context);
    AllToAllOp::attachInterface<AllToAll>(*context);
    HaloExchangeOp::attachInterface<HaloExchange>(*context);
    ExchangeOp::attachInterface<Exchange>(*context);
    RaggedAllToAllOp::attachInterface<RaggedAllToAll>(*context);
    CollectivePermuteOp::attachInterface<Permute>(*context);
  });
}
