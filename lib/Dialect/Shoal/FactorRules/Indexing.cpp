// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Models.h"
#include "shoal/Dialect/Shoal/IR/IndexingOps.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;

static bool isBoolean(Value value) {
  return tensorTypeOf(value).getElementType().isInteger(1);
}

/// How what devices read from their parts of a tensor is put together: one
/// holds the element, the others nothing. There are no sums of i1.
static ReduceKind lookupKind(Value value) {
  return isBoolean(value) ? ReduceKind::Or : ReduceKind::Sum;
}

namespace {

/// A cut dimension may be split in the operand, where each device places the
/// rows that it holds, and in the result, where each reads the rows that it
/// needs.
struct DynamicSlice
    : FactorRuleOpInterface::ExternalModel<DynamicSlice, DynamicSliceOp> {
  static bool hasOwnLocalForm() { return true; }
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<DynamicSliceOp>(operation);
    RankedTensorType type = tensorTypeOf(op.getInput());
    int64_t rank = type.getRank();
    SmallVector<int64_t> ranks(1 + rank, 0), at(1 + rank, -1);
    SmallVector<int64_t> nowhere = at;
    ranks[0] = rank;
    FactorRuleBuilder builder(ranks, {rank});
    for (int64_t d = 0; d < rank; ++d) {
      at[0] = d;
      int64_t size = type.getDimSize(d), kept = op.getSizes()[d];
      if (size == kept) {
        builder.addFactor(size, at, {d});
        continue;
      }
      builder.addFactor(size, at, {-1}, FactorKind::Reduction,
                        lookupKind(op.getInput()));
      builder.addFactor(kept, nowhere, {d});
    }
    if (!isBoolean(op.getInput()))
      builder.linearIn({0});
    return builder.build();
  }
};

/// Each device writes the rows of the update that it holds. The update stays
/// whole along a dimension in which it is smaller: gathering it sends less than
/// adding up results that devices have each written a part of.
struct DynamicUpdateSlice
    : FactorRuleOpInterface::ExternalModel<DynamicUpdateSlice,
                                           DynamicUpdateSliceOp> {
  static bool hasOwnLocalForm() { return true; }
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<DynamicUpdateSliceOp>(operation);
    RankedTensorType type = tensorTypeOf(op.getInput());
    RankedTensorType update = tensorTypeOf(op.getUpdate());
    int64_t rank = type.getRank();
    SmallVector<int64_t> ranks(2 + rank, 0), inBoth(2 + rank, -1);
    ranks[0] = ranks[1] = rank;
    FactorRuleBuilder builder(ranks, {rank});
    for (int64_t d = 0; d < rank; ++d) {
      SmallVector<int64_t> inOperand(2 + rank, -1), inUpdate = inOperand;
      inBoth[0] = inBoth[1] = inOperand[0] = inUpdate[1] = d;
      int64_t size = type.getDimSize(d), written = update.getDimSize(d);
      if (size == written) {
        builder.addFactor(size, inBoth, {d});
        continue;
      }
      builder.addFactor(size, inOperand, {d});
      builder.addFactor(written, inUpdate, {-1}, FactorKind::Replicated);
    }
    if (!isBoolean(op.getInput()))
      builder.linearIn({0, 1});
    return builder.writes(1).build();
  }
};

/// Dimensions that indices share with windows, and batching ones with the
/// operand, are split together. In a dimension where windows lie anywhere, the
/// operand is split (each device looks up what it holds), the result too. An
/// index is read whole: its elements are few.
struct Gather : FactorRuleOpInterface::ExternalModel<Gather, GatherOp> {
  static bool hasOwnLocalForm() { return true; }
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<GatherOp>(operation);
    IndexedWindows w = IndexedWindows::of(op);
    int64_t rank = w.operandShape.size(), indicesRank = w.indicesShape.size();
    FactorRuleBuilder builder({rank, indicesRank},
                              {int64_t(w.windowsShape.size())});
    for (auto [at, from] :
         llvm::zip_equal(w.windowsBatchDims(), w.indicesBatchDims()))
      builder.addFactor(w.indicesShape[from],
                        {w.operandDimOfBatching(from), from}, {at});
    if (w.indexVectorDim < indicesRank)
      builder.addFactor(w.indicesShape[w.indexVectorDim],
                        {-1, w.indexVectorDim}, {-1}, FactorKind::Replicated);
    SmallVector<int64_t> offsetDims = w.offsetDimOfOperandDim();
    for (int64_t d = 0; d < rank; ++d) {
      if (w.indicesDimOfBatching(d) >= 0)
        continue;
      int64_t size = w.operandShape[d], offsetDim = offsetDims[d];
      if (offsetDim >= 0 && size == w.windowSizes[d]) {
        builder.addFactor(size, {d, -1}, {offsetDim});
        continue;
      }
      builder.addFactor(size, {d, -1}, {-1}, FactorKind::Reduction,
                        lookupKind(op.getInput()));
      if (offsetDim >= 0)
        builder.addFactor(w.windowSizes[d], {-1, -1}, {offsetDim});
    }
    if (!isBoolean(op.getInput()))
      builder.linearIn({0});
    return builder.build();
  }
};

/// The operand's dimensions are split with the result's: each device keeps what
/// falls into its part. Updates that are split are combined across devices but
/// for overwrite, where the last one in the order of all updates stays: no
/// device could tell from its part alone.
struct Scatter : FactorRuleOpInterface::ExternalModel<Scatter, ScatterOp> {
  static bool hasOwnLocalForm() { return true; }
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<ScatterOp>(operation);
    IndexedWindows w = IndexedWindows::of(op);
    int64_t rank = w.operandShape.size(), indicesRank = w.indicesShape.size();
    FactorRuleBuilder builder(
        {rank, indicesRank, int64_t(w.windowsShape.size())}, {rank});
    auto addCombined = [&](int64_t size, int64_t from, int64_t at) {
      builder.addFactor(size, {-1, from, at}, {-1},
                        op.getKind() ? FactorKind::Reduction
                                     : FactorKind::Replicated,
                        op.getKind());
    };
    for (auto [at, from] :
         llvm::zip_equal(w.windowsBatchDims(), w.indicesBatchDims())) {
      int64_t d = w.operandDimOfBatching(from);
      if (d >= 0)
        builder.addFactor(w.operandShape[d], {d, from, at}, {d});
      else
        addCombined(w.indicesShape[from], from, at);
    }
    if (w.indexVectorDim < indicesRank)
      builder.addFactor(w.indicesShape[w.indexVectorDim],
                        {-1, w.indexVectorDim, -1}, {-1},
                        FactorKind::Replicated);
    SmallVector<int64_t> offsetDims = w.offsetDimOfOperandDim();
    for (int64_t d = 0; d < rank; ++d) {
      if (w.indicesDimOfBatching(d) >= 0)
        continue;
      bool isWhole = w.coversWhole(d);
      builder.addFactor(w.operandShape[d],
                        {d, -1, isWhole ? offsetDims[d] : -1}, {d});
      if (!isWhole && offsetDims[d] >= 0)
        addCombined(w.windowSizes[d], -1, offsetDims[d]);
    }
    if (op.getKind() == ReduceKind::Sum)
      builder.linearIn({0, 2}).linearIn({2});
    else if (!op.getKind() && !isBoolean(op.getInput()))
      builder.linearIn({0, 2});
    return builder.flops(tensorTypeOf(op.getUpdates()).getNumElements())
        .build();
  }
};

} // namespace

void shoal::registerIndexingFactorRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    DynamicSliceOp::attachInterface<DynamicSlice>(*context);
    DynamicUpdateSliceOp::attachInterface<DynamicUpdateSlice>(*context);
    GatherOp::attachInterface<Gather>(*context);
    ScatterOp::attachInterface<Scatter>(*context);
  });
}
