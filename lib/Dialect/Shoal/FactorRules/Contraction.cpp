// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Shoal/FactorRules/FactorRules.h"
#include "shoal/Dialect/Shoal/IR/Shoal.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// The place of `letter` in `term`, -1 where it is absent.
static int64_t dimOf(ArrayRef<char> term, char letter) {
  const char *place = llvm::find(term, letter);
  return place == term.end() ? -1 : place - term.begin();
}

namespace {

/// Letters are factors. A letter that an operand repeats stays whole: one axis
/// cannot split two dimensions.
struct Einsum : FactorRuleOpInterface::ExternalModel<Einsum, EinsumOp> {
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<EinsumOp>(operation);
    std::string error;
    EinsumSpec spec = *EinsumSpec::parse(op.getSpec(), error);

    llvm::MapVector<char, int64_t> sizes;
    for (auto [term, input] : llvm::zip_equal(spec.inputs, op.getInputs()))
      for (auto [letter, size] :
           llvm::zip_equal(term, tensorType(input).getShape()))
        sizes.insert({letter, size});

    FactorRule rule;
    rule.operands.resize(spec.inputs.size());
    rule.results.resize(1);
    double points = 1;
    for (auto [letter, size] : sizes) {
      bool repeats = llvm::any_of(spec.inputs, [&](ArrayRef<char> term) {
        return llvm::count(term, letter) > 1;
      });
      bool kept = dimOf(spec.result, letter) >= 0;
      Factor factor{size, FactorKind::Parallel, std::nullopt, false};
      if (repeats)
        factor.kind = FactorKind::Replicated;
      else if (!kept) {
        factor.kind = FactorKind::Reduction;
        factor.reduction = ReduceKind::Sum;
      }
      rule.factors.push_back(factor);
      points *= size;
    }
    auto dimsOf = [&](ArrayRef<char> term) {
      DimFactors dims;
      for (char letter : term)
        dims.push_back(
            {static_cast<unsigned>(sizes.find(letter) - sizes.begin())});
      return dims;
    };
    for (auto [term, dims] : llvm::zip_equal(spec.inputs, rule.operands))
      dims = dimsOf(term);
    rule.results[0] = dimsOf(spec.result);
    for (unsigned i = 0; i < spec.inputs.size(); ++i)
      rule.linearIn.push_back({i});
    // A product and a sum a point; a single operand is only summed.
    rule.flops = points * spec.inputs.size();
    return rule;
  }
};

struct Reduce : FactorRuleOpInterface::ExternalModel<Reduce, ReduceOp> {
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<ReduceOp>(operation);
    RankedTensorType type = tensorType(op.getInput());
    FactorRuleBuilder builder({type.getRank()},
                              {tensorType(op.getResult()).getRank()});
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

} // namespace

void shoal::registerContractionFactorRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    EinsumOp::attachInterface<Einsum>(*context);
    ReduceOp::attachInterface<Reduce>(*context);
  });
}
