// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/IR/Matchers.h"
#include "shoal/Dialect/Shoal/FactorRules/FactorRules.h"
#include "shoal/Dialect/Shoal/IR/Shoal.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace mlir;
using namespace shoal;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

namespace {

/// A dimension that the broadcast makes, or repeats, splits for free.
struct BroadcastInDim
    : FactorRuleOpInterface::ExternalModel<BroadcastInDim, BroadcastInDimOp> {
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<BroadcastInDimOp>(operation);
    RankedTensorType from = tensorType(op.getInput());
    RankedTensorType to = tensorType(op.getResult());
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
    RankedTensorType type = tensorType(op.getResult());
    FactorRuleBuilder builder({type.getRank()}, {type.getRank()});
    for (auto [dim, source] : llvm::enumerate(op.getPermutation()))
      builder.addFactor(type.getDimSize(dim), {source},
                        {static_cast<int64_t>(dim)});
    return builder.linearIn({0}).build();
  }
};

/// Walks both shapes from the major end and cuts them at their common places.
/// 12 -> 3 x 4 has the factors 3 and 4; 6 x 2 -> 4 x 3 has 2, then 3 x 2 on one
/// side and 2 x 3 on the other, which have no common place and stay whole.
struct Reshape : FactorRuleOpInterface::ExternalModel<Reshape, ReshapeOp> {
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<ReshapeOp>(operation);
    ArrayRef<int64_t> from = tensorType(op.getInput()).getShape();
    ArrayRef<int64_t> to = tensorType(op.getResult()).getShape();
    FactorRule rule;
    rule.operands.emplace_back(from.size());
    rule.results.emplace_back(to.size());
    if (llvm::is_contained(from, 0))
      return rule;
    Side a{from, rule.operands[0]}, b{to, rule.results[0]};
    while (true) {
      a.skipDone();
      b.skipDone();
      if (a.atEnd() || b.atEnd())
        break;
      int64_t common = std::gcd(a.rest, b.rest);
      if (common == 1)
        skipToCommonPlace(a, b, rule);
      else
        addShared(a, b, common, rule);
    }
    rule.linearIn.push_back({0});
    return rule;
  }

private:
  /// A place in one of the shapes: a dimension, and what of it is not yet
  /// factored.
  struct Side {
    ArrayRef<int64_t> shape;
    DimFactors &dims;
    size_t dim = 0;
    int64_t rest = shape.empty() ? 1 : shape[0];

    bool atEnd() const { return dim >= shape.size(); }
    void skipDone() {
      while (!atEnd() && rest == 1)
        rest = ++dim < shape.size() ? shape[dim] : 1;
    }
    void take(int64_t size, unsigned factor) {
      dims[dim].push_back(factor);
      rest /= size;
    }
  };

  static void addShared(Side &a, Side &b, int64_t size, FactorRule &rule) {
    bool isWholeDim = size == a.shape[a.dim] && size == b.shape[b.dim];
    rule.factors.push_back({size, FactorKind::Parallel, std::nullopt,
                            /*needsEvenSplit=*/!isWholeDim});
    a.take(size, rule.factors.size() - 1);
    b.take(size, rule.factors.size() - 1);
  }

  static void addWhole(Side &side, FactorRule &rule) {
    rule.factors.push_back(
        {side.rest, FactorKind::Replicated, std::nullopt, true});
    side.take(side.rest, rule.factors.size() - 1);
  }

  /// Leaves whole what comes before the next place where both shapes have a
  /// boundary.
  static void skipToCommonPlace(Side &a, Side &b, FactorRule &rule) {
    int64_t productA = 1, productB = 1;
    do {
      Side &behind = productA <= productB ? a : b;
      int64_t &product = productA <= productB ? productA : productB;
      behind.skipDone();
      if (behind.atEnd())
        return;
      product *= behind.rest;
      addWhole(behind, rule);
    } while (productA != productB);
  }
};

struct Iota : FactorRuleOpInterface::ExternalModel<Iota, IotaOp> {
  FactorRule getFactorRule(Operation *op) const {
    return FactorRuleBuilder::elementwise(
        tensorType(op->getResult(0)).getShape(), /*numOperands=*/0);
  }
};

/// Dimensions that the op leaves alone are shared; others stay whole.
FactorRule untouchedDimsRule(RankedTensorType from, RankedTensorType to,
                             unsigned numScalars,
                             function_ref<bool(int64_t)> isUntouched) {
  SmallVector<int64_t> operandRanks(1 + numScalars, 0);
  operandRanks[0] = from.getRank();
  FactorRuleBuilder builder(operandRanks, {to.getRank()});
  SmallVector<int64_t> at(1 + numScalars, -1);
  for (int64_t d = 0; d < from.getRank(); ++d) {
    at[0] = d;
    if (isUntouched(d)) {
      builder.addFactor(from.getDimSize(d), at, {d});
      continue;
    }
    builder.addFactor(from.getDimSize(d), at, {-1}, FactorKind::Replicated);
    at[0] = -1;
    builder.addFactor(to.getDimSize(d), at, {d}, FactorKind::Replicated);
  }
  return builder.build();
}

struct Slice : FactorRuleOpInterface::ExternalModel<Slice, SliceOp> {
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<SliceOp>(operation);
    RankedTensorType from = tensorType(op.getInput());
    RankedTensorType to = tensorType(op.getResult());
    FactorRule rule =
        untouchedDimsRule(from, to, /*numScalars=*/0, [&](int64_t d) {
          return from.getDimSize(d) == to.getDimSize(d);
        });
    rule.linearIn.push_back({0});
    return rule;
  }
};

struct Pad : FactorRuleOpInterface::ExternalModel<Pad, PadOp> {
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<PadOp>(operation);
    RankedTensorType from = tensorType(op.getInput());
    RankedTensorType to = tensorType(op.getResult());
    FactorRule rule =
        untouchedDimsRule(from, to, /*numScalars=*/1, [&](int64_t d) {
          return from.getDimSize(d) == to.getDimSize(d);
        });
    // Addends padded with zero add up to the sum padded with zero.
    if (matchPattern(op.getValue(), m_AnyZeroFloat()) ||
        matchPattern(op.getValue(), m_Zero()))
      rule.linearIn.push_back({0});
    return rule;
  }
};

struct Concatenate
    : FactorRuleOpInterface::ExternalModel<Concatenate, ConcatenateOp> {
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<ConcatenateOp>(operation);
    RankedTensorType type = tensorType(op.getResult());
    size_t count = op.getInputs().size();
    int64_t along = op.getDim();
    FactorRuleBuilder builder(SmallVector<int64_t>(count, type.getRank()),
                              {type.getRank()});
    for (int64_t d = 0; d < type.getRank(); ++d) {
      if (d != along) {
        builder.addFactor(type.getDimSize(d), SmallVector<int64_t>(count, d),
                          {d});
        continue;
      }
      for (size_t i = 0; i < count; ++i) {
        SmallVector<int64_t> at(count, -1);
        at[i] = d;
        builder.addFactor(tensorType(op.getInputs()[i]).getDimSize(d), at, {-1},
                          FactorKind::Replicated);
      }
      builder.addFactor(type.getDimSize(d), SmallVector<int64_t>(count, -1),
                        {d}, FactorKind::Replicated);
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
    ReshapeOp::attachInterface<Reshape>(*context);
    IotaOp::attachInterface<Iota>(*context);
    SliceOp::attachInterface<Slice>(*context);
    PadOp::attachInterface<Pad>(*context);
    ConcatenateOp::attachInterface<Concatenate>(*context);
  });
}
