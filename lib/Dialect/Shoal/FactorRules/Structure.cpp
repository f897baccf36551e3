// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Models.h"
#include "mlir/IR/Matchers.h"
#include "shoal/Dialect/Shoal/IR/StructureOps.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include "shoal/Sharding/DilatedRows.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;

namespace {

/// A dimension that the broadcast makes, or repeats, splits for free.
struct BroadcastInDim
    : FactorRuleOpInterface::ExternalModel<BroadcastInDim, BroadcastInDimOp> {
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<BroadcastInDimOp>(operation);
    RankedTensorType from = tensorTypeOf(op.getInput());
    RankedTensorType to = tensorTypeOf(op.getResult());
    FactorRuleBuilder builder({from.getRank()}, {to.getRank()});
    for (int64_t d = 0; d < to.getRank(); ++d) {
      const int64_t *place = llvm::find(op.getDims(), d);
      int64_t source =
          place == op.getDims().end() ? -1 : place - op.getDims().begin();
      bool shared = source >= 0 && from.getDimSize(source) == to.getDimSize(d);
      builder.addFactor(to.getDimSize(d), {shared ? source : -1}, {d});
    }
    return builder.linearIn({0}).build();
  }
};

struct Transpose
    : FactorRuleOpInterface::ExternalModel<Transpose, TransposeOp> {
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<TransposeOp>(operation);
    RankedTensorType type = tensorTypeOf(op.getResult());
    FactorRuleBuilder builder({type.getRank()}, {type.getRank()});
    for (auto [dim, source] : llvm::enumerate(op.getPermutation()))
      builder.addFactor(type.getDimSize(dim), {source},
                        {static_cast<int64_t>(dim)});
    return builder.linearIn({0}).build();
  }
};

struct Iota : FactorRuleOpInterface::ExternalModel<Iota, IotaOp> {
  static bool hasOwnLocalForm() { return true; }
  FactorRule getFactorRule(Operation *op) const {
    return FactorRuleBuilder::elementwise(
        tensorTypeOf(op->getResult(0)).getShape(), /*numOperands=*/0);
  }
};

/// How the result's rows of a dimension come from the operand's; nothing where
/// they are the same.
using DimMap = function_ref<std::optional<RowMap>(int64_t dim)>;

/// A factor for each dimension, windowed where `mapOf` says so. `numScalars`
/// operands behind the first have no dimensions.
FactorRule windowedRule(RankedTensorType from, RankedTensorType to,
                        unsigned numScalars, DimMap mapOf) {
  SmallVector<int64_t> operandRanks(1 + numScalars, 0);
  operandRanks[0] = from.getRank();
  FactorRuleBuilder builder(operandRanks, {to.getRank()});
  SmallVector<int64_t> at(1 + numScalars, -1);
  for (int64_t d = 0; d < from.getRank(); ++d) {
    at[0] = d;
    builder.addFactor(to.getDimSize(d), at, {d});
    if (std::optional<RowMap> map = mapOf(d))
      builder.window(0, d, *map);
  }
  return builder.build();
}

/// Whether a slice keeps one row of a dimension of several.
bool keepsOneRow(SliceOp op, int64_t d) {
  return tensorTypeOf(op.getResult()).getDimSize(d) == 1 &&
         tensorTypeOf(op.getInput()).getDimSize(d) > 1;
}

/// A strided slice fetches the rows between those it keeps too: which rows of a
/// neighbour are kept differs from device to device. A single row comes from
/// the device that holds it, by a sum to which the others add nothing.
struct Slice : FactorRuleOpInterface::ExternalModel<Slice, SliceOp> {
  static bool hasOwnLocalForm() { return true; }
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<SliceOp>(operation);
    RankedTensorType from = tensorTypeOf(op.getInput());
    RankedTensorType to = tensorTypeOf(op.getResult());
    bool isBoolean = from.getElementType().isInteger(1);
    FactorRuleBuilder builder({from.getRank()}, {to.getRank()});
    for (int64_t d = 0; d < from.getRank(); ++d) {
      if (keepsOneRow(op, d)) {
        builder.addFactor(from.getDimSize(d), {d}, {-1}, FactorKind::Reduction,
                          isBoolean ? ReduceKind::Or : ReduceKind::Sum);
        continue;
      }
      builder.addFactor(to.getDimSize(d), {d}, {d});
      int64_t start = op.getStarts()[d];
      if (from.getDimSize(d) != to.getDimSize(d))
        builder.window(0, d, RowMap{op.getStrides()[d], start, start, 1});
    }
    if (!isBoolean)
      builder.linearIn({0});
    return builder.build();
  }
};

struct Pad : FactorRuleOpInterface::ExternalModel<Pad, PadOp> {
  static bool hasOwnLocalForm() { return true; }
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<PadOp>(operation);
    RankedTensorType from = tensorTypeOf(op.getInput());
    RankedTensorType to = tensorTypeOf(op.getResult());
    FactorRule rule = windowedRule(
        from, to, /*numScalars=*/1, [&](int64_t d) -> std::optional<RowMap> {
          if (!op.touches(d))
            return std::nullopt;
          return rowsOfPadding(op.getLow()[d], op.getInterior()[d]);
        });
    // Addends padded with zero add up to the sum padded with zero.
    if (matchPattern(op.getValue(), m_AnyZeroFloat()) ||
        matchPattern(op.getValue(), m_Zero()))
      rule.linearIn.push_back({0});
    return rule;
  }
};

struct Reverse : FactorRuleOpInterface::ExternalModel<Reverse, ReverseOp> {
  static bool hasOwnLocalForm() { return true; }
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<ReverseOp>(operation);
    RankedTensorType type = tensorTypeOf(op.getResult());
    FactorRule rule = windowedRule(type, type, /*numScalars=*/0,
                                   [&](int64_t d) -> std::optional<RowMap> {
                                     if (!llvm::is_contained(op.getDims(), d))
                                       return std::nullopt;
                                     int64_t last = type.getDimSize(d) - 1;
                                     return RowMap{-1, last, last, 1};
                                   });
    rule.linearIn.push_back({0});
    return rule;
  }
};

struct Roll : FactorRuleOpInterface::ExternalModel<Roll, RollOp> {
  static bool hasOwnLocalForm() { return true; }
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<RollOp>(operation);
    RankedTensorType type = tensorTypeOf(op.getResult());
    int64_t shift = op.getShift();
    FactorRule rule = windowedRule(
        type, type, /*numScalars=*/0, [&](int64_t d) -> std::optional<RowMap> {
          if (d != static_cast<int64_t>(op.getDim()) || shift == 0)
            return std::nullopt;
          return RowMap{1, -shift, -shift, 1, /*wraps=*/true};
        });
    rule.linearIn.push_back({0});
    return rule;
  }
};

/// The operands share the factor of the dimension along which they stand one
/// behind the other; each is read from its place on.
struct Concatenate
    : FactorRuleOpInterface::ExternalModel<Concatenate, ConcatenateOp> {
  static bool hasOwnLocalForm() { return true; }
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<ConcatenateOp>(operation);
    RankedTensorType type = tensorTypeOf(op.getResult());
    size_t count = op.getInputs().size();
    FactorRuleBuilder builder(SmallVector<int64_t>(count, type.getRank()),
                              {type.getRank()});
    for (int64_t d = 0; d < type.getRank(); ++d)
      builder.addFactor(type.getDimSize(d), SmallVector<int64_t>(count, d),
                        {d});
    int64_t place = 0, along = op.getDim();
    for (auto [i, input] : llvm::enumerate(op.getInputs())) {
      builder.window(i, along, {1, -place, -place, 1});
      place += tensorTypeOf(input).getDimSize(along);
    }
    return builder.linearIn(llvm::to_vector(llvm::seq<unsigned>(count)))
        .build();
  }
};

} // namespace

void shoal::registerStructureFactorRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    BroadcastInDimOp::attachInterface<BroadcastInDim>(*context);
    TransposeOp::attachInterface<Transpose>(*context);
    IotaOp::attachInterface<Iota>(*context);
    SliceOp::attachInterface<Slice>(*context);
    PadOp::attachInterface<Pad>(*context);
    ReverseOp::attachInterface<Reverse>(*context);
    RollOp::attachInterface<Roll>(*context);
    ConcatenateOp::attachInterface<Concatenate>(*context);
  });
}
