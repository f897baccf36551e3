// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Transforms/Sparse/OneHotCosts.h"
#include "Demand.h"
#include "shoal/Interfaces/PartitionInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

/// Operations that take as long as these moves.
static double price(const Moves &moves, Value result, const Machine &machine) {
  double bytes =
      llvm::divideCeil(tensorType(result).getElementTypeBitWidth(), 8) *
      moves.elements;
  double seconds =
      moves.rows * machine.indexedRowSeconds + bytes / machine.indexedRowBytes;
  return seconds * balancedFlops(machine);
}

static OneHotCost toCost(FactorRuleOpInterface op, const Moves &moves,
                         const Machine &machine) {
  FactorRule rule = op.getFactorRule();
  OneHotCost cost;
  cost.flops = std::min(price(moves, op->getResult(0), machine), rule.flops);
  for (const Moves::Dim &at : moves.readByPlace) {
    const DimFactors &dims = at.operand == Moves::Dim::kResult
                                 ? rule.results[0]
                                 : rule.operands[at.operand];
    for (unsigned factor : dims[at.dim])
      if (!llvm::is_contained(cost.unsharedFactors, factor))
        cost.unsharedFactors.push_back(factor);
  }
  return cost;
}

namespace {
class Pricing {
public:
  Pricing(const Forms &forms, const Machine &machine)
      : forms(forms), machine(machine) {}

  /// Of a product's result that is made from rows, or of which samples are.
  void add(Value result, const Moves &moves, bool isSampled) {
    auto op = result.getDefiningOp<FactorRuleOpInterface>();
    if (!op)
      return;
    auto [known, isNew] = costs.ops.try_emplace(op, toCost(op, moves, machine));
    if (!isNew)
      return;
    double lost = op.getFactorRule().flops - known->second.flops;
    if (isSampled)
      costs.flopsIfSent[result] += lost;
    else
      for (Value operand : op->getOperands())
        addToForms(operand, lost);
  }

  OneHotCosts costs;

private:
  /// To the tensors with forms that this one's form is made of.
  void addToForms(Value tensor, double lost) {
    SetVector<Value> made;
    made.insert(tensor);
    for (size_t i = 0; i < made.size(); ++i) {
      if (!forms.lookup(made[i]))
        continue;
      costs.flopsIfSent[made[i]] += lost;
      if (Operation *maker = made[i].getDefiningOp())
        made.insert(maker->operand_begin(), maker->operand_end());
    }
  }

  const Forms &forms;
  const Machine &machine;
};
} // namespace

OneHotCosts shoal::priceOneHots(func::FuncOp function, double minGain,
                                const Machine &machine) {
  Terms terms(function.getContext());
  Forms forms(terms, minGain);
  for (Block &block : function.getBody())
    sparse::analyze(block, forms);
  if (forms.getMoves().empty())
    return OneHotCosts();
  Demand demand(function, forms);
  Pricing pricing(forms, machine);
  for (const auto &[result, moves] : demand.getSampled())
    pricing.add(result, moves, /*isSampled=*/true);
  for (const auto &[result, moves] : forms.getMoves()) {
    // What nobody reads as it is costs nothing.
    bool isMade = demand.getWhole().contains(result);
    if (isMade && forms.isForReaders(result))
      continue;
    pricing.add(result, isMade ? moves : Moves(), /*isSampled=*/!isMade);
  }
  return std::move(pricing.costs);
}
