// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Models.h"
#include "shoal/Dialect/Shoal/IR/AllGroups.h"
#include "shoal/Dialect/Shoal/IR/ContractionOps.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;

/// The place of `letter` in `term`, -1 where it is absent.
static int64_t dimOf(ArrayRef<char> term, char letter) {
  const char *place = llvm::find(term, letter);
  return place == term.end() ? -1 : place - term.begin();
}

/// The rule of an einsum with a term for each of `inputs`. Letters are factors.
/// A letter that an operand repeats stays whole: one axis cannot split two
/// dimensions. The result is linear in each of the first `numLinear` operands.
static FactorRule makeEinsumRule(ArrayRef<ArrayRef<char>> terms,
                                 ArrayRef<char> result, ValueRange inputs,
                                 unsigned numLinear) {
  llvm::MapVector<char, int64_t> sizes;
  for (auto [term, input] : llvm::zip_equal(terms, inputs))
    for (auto [letter, size] :
         llvm::zip_equal(term, tensorTypeOf(input).getShape()))
      sizes.insert({letter, size});

  FactorRule rule;
  rule.flops = 1;
  for (auto [letter, size] : sizes) {
    bool repeats = llvm::any_of(terms, [&](ArrayRef<char> term) {
      return llvm::count(term, letter) > 1;
    });
    Factor factor{size, FactorKind::Parallel, std::nullopt, false};
    if (repeats)
      factor.kind = FactorKind::Replicated;
    else if (dimOf(result, letter) < 0) {
      factor.kind = FactorKind::Reduction;
      factor.reduction = ReduceKind::Sum;
    }
    rule.factors.push_back(factor);
    rule.flops *= size;
  }
  auto dimsOf = [&](ArrayRef<char> term) {
    DimFactors dims;
    for (char letter : term)
      dims.push_back(
          {static_cast<unsigned>(sizes.find(letter) - sizes.begin())});
    return dims;
  };
  for (ArrayRef<char> term : terms)
    rule.operands.push_back(dimsOf(term));
  rule.results.push_back(dimsOf(result));
  for (unsigned i = 0; i < numLinear; ++i)
    rule.linearIn.push_back({i});
  // A product and a sum a point; a single operand is only summed.
  rule.flops *= numLinear;
  return rule;
}

namespace {

struct Einsum : FactorRuleOpInterface::ExternalModel<Einsum, EinsumOp> {
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<EinsumOp>(operation);
    EinsumSpec spec = op.getTerms();
    SmallVector<ArrayRef<char>> terms(spec.inputs.begin(), spec.inputs.end());
    return makeEinsumRule(terms, spec.result, op.getInputs(), terms.size());
  }
};

/// An einsum with the mask of groups, which both bounds stand for.
struct RaggedEinsum
    : FactorRuleOpInterface::ExternalModel<RaggedEinsum, RaggedEinsumOp> {
  static bool hasOwnLocalForm() { return true; }
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<RaggedEinsumOp>(operation);
    EinsumSpec spec = op.getTerms();
    ArrayRef<char> groups = spec.inputs[2];
    FactorRule rule =
        makeEinsumRule({spec.inputs[0], spec.inputs[1], groups, groups},
                       spec.result, op.getOperands(), /*numLinear=*/2);
    // A row is multiplied by the matrix of its group alone, if the group is
    // here.
    int64_t numGroups = tensorTypeOf(op.getBegins()).getShape().back();
    if (auto all = op->getAttrOfType<IntegerAttr>(kAllGroupsAttr))
      numGroups = std::max(numGroups, all.getInt());
    rule.flops /= std::max<int64_t>(numGroups, 1);
    return rule;
  }
};

} // namespace

void shoal::registerContractionFactorRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    EinsumOp::attachInterface<Einsum>(*context);
    RaggedEinsumOp::attachInterface<RaggedEinsum>(*context);
  });
}
