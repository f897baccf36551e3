// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Products/PlanEinsum.h"

namespace shoal::products {

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

bool isZero(const ProductPlan &plan) { return !plan.gemm && !plan.loops; }

bool mustConvert(const ProductTypes &types) {
  ElementType in = types.in[0], out = types.out;
  bool small = support::isSmallFloat(in) && out == ElementType::F32;
  bool small8 = support::isFloat8(in) && support::isSmallFloat(out);
  return in != out && !small && !small8;
}

ProductTypes typesInside(const ProductTypes &types, const ProductPlan &plan) {
  ElementType compute = computeType(types);
  return plan.converts ? ProductTypes{{compute, compute}, compute} : types;
}

std::array<ElementType, 2> preparedTypes(const ProductTypes &inside,
                                         const ProductPlan &plan) {
  std::array<ElementType, 2> types = inside.in;
  for (size_t i = 0; i < 2; ++i)
    if (plan.prepared[i])
      types[i] = computeType(inside);
  return types;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

namespace {

/// An einsum on the way to its plan; what is prepared goes out of the spec.
class Planner {
public:
  Planner(EinsumSpec spec, std::array<std::vector<int64_t>, 2> operandStrides,
          const ProductModel &model, const PlanFilter &filter)
      : spec(std::move(spec)),
        strides{std::move(operandStrides[0]), std::move(operandStrides[1]),
                letterStrides(this->spec, this->spec.result)},
        compute(computeType(this->spec.types)), model(model), filter(filter) {}

  ProductPlan run();

private:
  void prepare(size_t operand, bool toCompute);
  std::array<ElementType, 2> types() const {
    return preparedTypes(spec.types, plan);
  }
  std::optional<PricedGemm> planLibrary(const Contraction &contraction) const;
  /// False where loops are cheaper, or the library has no such product.
  bool useLibrary();
  void useLoops();

  EinsumSpec spec;
  std::array<std::vector<int64_t>, 3> strides;
  ElementType compute;
  const ProductModel &model;
  const PlanFilter &filter;
  ProductPlan plan;
};

} // namespace

/// Sums the letters that the operand alone has, into a dense tensor of what
/// remains, which takes its place. Without any it is converted `toCompute`.
void Planner::prepare(size_t operand, bool toCompute) {
  if (plan.prepared[operand])
    return;
  Letters kept, seen;
  LoopProduct sum;
  std::vector<int64_t> &from = strides[operand];
  const Letters &partner = spec.operands[1 - operand];
  for (int64_t letter : spec.operands[operand]) {
    if (contains(seen, letter)) // a diagonal
      continue;
    seen.push_back(letter);
    if (contains(spec.result, letter) || contains(partner, letter))
      kept.push_back(letter);
    else if (spec.sizes[letter] > 1)
      sum.summed.push_back({spec.sizes[letter], {from[letter], 0, 0}});
  }
  if (!toCompute && sum.summed.empty())
    return;
  std::vector<int64_t> dense = letterStrides(spec, kept);
  for (int64_t letter : kept)
    sum.outer.push_back({spec.sizes[letter], {from[letter], 0, dense[letter]}});
  plan.prepared[operand] = std::move(sum);
  spec.operands[operand] = kept;
  from = dense;
}

/// The cheapest product on the machine, which may not take all types; what it
/// does not take is packed.
std::optional<PricedGemm>
Planner::planLibrary(const Contraction &contraction) const {
  auto bytesOf = [](ElementType type) {
    return static_cast<int64_t>(support::elementSize(type));
  };
  GemmFilter mayUse;
  if (filter)
    mayUse = [this](const GemmPlan &gemm) {
      ProductPlan candidate = plan;
      candidate.gemm = gemm;
      return filter(candidate);
    };
  auto [a, b] = types();
  bool convertsOut = spec.types.out != compute;
  if (!model.isDevice)
    return planGemm(contraction, {a != compute, b != compute, convertsOut},
                    bytesOf(compute), model, mayUse);
  std::optional<PricedGemm> gemm =
      planGemm(contraction, {}, bytesOf(a), model, mayUse);
  // What is added to must not be rounded before the end.
  if (gemm && convertsOut && !gemm->plan.summed.empty())
    gemm =
        planGemm(contraction, {false, false, true}, bytesOf(a), model, mayUse);
  return gemm;
}

bool Planner::useLibrary() {
  Contraction contraction = classify(spec, strides);
  if (!support::isFloat(compute) || contraction.summed.empty())
    return false;
  std::optional<PricedGemm> gemm = planLibrary(contraction);
  if (!gemm || gemm->seconds > loopSeconds(contraction, model))
    return false;
  plan.gemm = std::move(gemm->plan);
  return true;
}

/// Loops take two operands of one type.
void Planner::useLoops() {
  if (auto [a, b] = types(); a != b)
    for (size_t i = 0; i < 2; ++i)
      prepare(i, /*toCompute=*/true);
  Contraction contraction = classify(spec, strides);
  plan.loops = {contraction.batch, contraction.summed};
  for (const Loops<3> *part : {&contraction.rows, &contraction.columns})
    plan.loops->outer.insert(plan.loops->outer.end(), part->begin(),
                             part->end());
}

ProductPlan Planner::run() {
  plan.isDevice = model.isDevice;
  for (size_t i = 0; i < 2; ++i)
    prepare(i, /*toCompute=*/false);
  for (size_t i = 0; i < 2; ++i)
    if (types()[i] != compute && plan.prepared[1 - i])
      prepare(i, /*toCompute=*/true);
  if (!useLibrary())
    useLoops();
  return std::move(plan);
}

ProductPlan planStrided(EinsumSpec spec,
                        std::array<std::vector<int64_t>, 2> strides,
                        const ProductModel &model, const PlanFilter &filter) {
  return Planner(std::move(spec), std::move(strides), model, filter).run();
}

ProductPlan planEinsum(EinsumSpec spec, const ProductModel &model) {
  ProductPlan zero;
  zero.isDevice = model.isDevice;
  if (contains(spec.sizes, 0))
    return zero;
  bool converts = mustConvert(spec.types);
  ElementType compute = computeType(spec.types);
  if (converts)
    spec.types = {{compute, compute}, compute};
  std::array<std::vector<int64_t>, 2> strides = {
      letterStrides(spec, spec.operands[0]),
      letterStrides(spec, spec.operands[1])};
  ProductPlan plan = planStrided(std::move(spec), std::move(strides), model);
  plan.converts = converts;
  return plan;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

EinsumCall makeCall(const EinsumSpec &spec, ProductPlan plan) {
  EinsumCall call;
  call.types = spec.types;
  call.elements = {elementsOf(spec, spec.operands[0]),
                   elementsOf(spec, spec.operands[1]),
                   elementsOf(spec, spec.result)};
  call.plan = std::move(plan);
  return call;
}

Loops<2> biasLoops(const EinsumSpec &spec, const Letters &bias) {
  std::vector<int64_t> result = letterStrides(spec, spec.result);
  std::vector<int64_t> strides = letterStrides(spec, bias);
  Loops<2> loops;
  for (int64_t letter : spec.result)
    loops.push_back({spec.sizes[letter], {result[letter], strides[letter]}});
  return loops;
}

} // namespace shoal::products
