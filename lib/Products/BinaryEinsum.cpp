// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Products/BinaryEinsum.h"

namespace shoal::products {

/// The cheapest product on the machine, which may not take all types; what it
/// does not take is packed.
std::optional<GemmPlan>
BinaryEinsum::planProduct(const Contraction &contraction,
                          const std::array<ElementType, 2> &types,
                          const ProductModel &model) const {
  auto bytes = static_cast<int64_t>(support::elementSize(compute));
  bool convertsOut = typeOut != compute;
  if (!model.isDevice)
    return planGemm(contraction,
                    {types[0] != compute, types[1] != compute, convertsOut},
                    bytes, model);
  bytes = static_cast<int64_t>(support::elementSize(types[0]));
  std::optional<GemmPlan> plan = planGemm(contraction, {}, bytes, model);
  // What is added to must not be rounded before the end.
  if (plan && convertsOut && !plan->summed.empty())
    plan = planGemm(contraction, {false, false, true}, bytes, model);
  return plan;
}

/// Sums the letters that operand `which` alone has, into a dense tensor of
/// what remains, whose strides replace `strides`.
BinaryEinsum::Preparation
BinaryEinsum::prepareOperand(EinsumSpec &spec, size_t which, bool toCompute,
                             std::vector<int64_t> &strides) {
  Preparation preparation;
  Letters kept, seen;
  Loops<3> lone;
  const Letters &partner = spec.operands[1 - which];
  for (int64_t letter : spec.operands[which]) {
    if (contains(seen, letter)) // a diagonal
      continue;
    seen.push_back(letter);
    if (contains(spec.result, letter) || contains(partner, letter))
      kept.push_back(letter);
    else if (spec.sizes[letter] > 1)
      lone.push_back({spec.sizes[letter], {strides[letter], 0, 0}});
  }
  preparation.needed = toCompute || !lone.empty();
  if (!preparation.needed)
    return preparation;
  std::vector<int64_t> dense = letterStrides(spec, kept);
  Loops<3> outer;
  preparation.elements = 1;
  for (int64_t letter : kept) {
    outer.push_back({spec.sizes[letter], {strides[letter], 0, dense[letter]}});
    preparation.elements *= spec.sizes[letter];
  }
  preparation.sum = {outer, lone, spec.typeOf(which), computeType(spec)};
  spec.operands[which] = kept;
  strides = dense;
  return preparation;
}

BinaryEinsum::BinaryEinsum(EinsumSpec spec,
                           std::array<std::vector<int64_t>, 2> operandStrides,
                           const ProductModel &model)
    : typesIn{spec.typeOf(0), spec.typeOf(1)}, typeOut(spec.typeOut),
      compute(computeType(spec)) {
  std::array<std::vector<int64_t>, 3> strides = {
      std::move(operandStrides[0]), std::move(operandStrides[1]),
      letterStrides(spec, spec.result)};
  for (size_t i = 0; i < 2; ++i)
    preparations[i] = prepareOperand(spec, i, /*toCompute=*/false, strides[i]);
  // Loops take two operands of one type.
  std::array<ElementType, 2> types = typesIn;
  auto useCompute = [&](size_t i) {
    if (!preparations[i].needed)
      preparations[i] = prepareOperand(spec, i, /*toCompute=*/true, strides[i]);
  };
  for (size_t i = 0; i < 2; ++i)
    if (types[i] != compute && preparations[1 - i].needed)
      useCompute(i);
  for (size_t i = 0; i < 2; ++i)
    if (preparations[i].needed)
      types[i] = compute;

  Contraction contraction = classify(spec, strides);
  if (support::isFloat(compute) && !contraction.summed.empty()) {
    gemm = planProduct(contraction, types, model);
    if (gemm && gemm->cost <= loopCost(contraction, model))
      return;
    gemm.reset();
  }
  if (types[0] != types[1]) {
    for (size_t i = 0; i < 2; ++i)
      useCompute(i);
    types = {compute, compute};
    contraction = classify(spec, strides);
  }
  loops = {contraction.batch, contraction.summed, types[0], spec.typeOut};
  for (const Loops<3> *part : {&contraction.rows, &contraction.columns})
    loops.outer.insert(loops.outer.end(), part->begin(), part->end());
}

} // namespace shoal::products
