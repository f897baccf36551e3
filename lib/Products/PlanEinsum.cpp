// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Products/PlanEinsum.h"
#include "shoal/Products/OneDNN.h"

namespace shoal::products {

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

bool isZero(const ProductPlan &plan) { return !plan.gemm && !plan.loops; }

static bool areComputedIn(const ProductTypes &types) {
  ElementType compute = computeType(types);
  return types.in[0] == compute && types.in[1] == compute &&
         types.out == compute;
}

bool isCode(const ProductTypes &types, const ProductPlan &plan) {
  return plan.loops && !plan.isDevice && !plan.prepared[0] &&
         !plan.prepared[1] && areComputedIn(types);
}

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

ElementType libraryResultType(const ProductTypes &inside,
                              const GemmPlan &gemm) {
  return gemm.packing[2] ? computeType(inside) : inside.out;
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
  bool mayUse(const GemmPlan &gemm) const;
  std::optional<PricedGemm> planBLAS(const Contraction &contraction) const;
  std::optional<PricedGemm> planOneDNN(const Contraction &contraction) const;
  std::optional<PricedGemm> planDevice(const Contraction &contraction) const;
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

static int64_t bytesOf(ElementType type) {
  return static_cast<int64_t>(support::elementSize(type));
}

bool Planner::mayUse(const GemmPlan &gemm) const {
  if (!filter)
    return true;
  ProductPlan candidate = plan;
  candidate.gemm = gemm;
  return filter(candidate);
}

/// Other types than the one that is computed in are packed.
std::optional<PricedGemm>
Planner::planBLAS(const Contraction &contraction) const {
  auto [a, b] = types();
  return planGemm(contraction,
                  {a != compute, b != compute, spec.types.out != compute},
                  bytesOf(compute), model,
                  [this](const GemmPlan &gemm) { return mayUse(gemm); });
}

/// Nothing is packed for its type but what is added to, which must not be
/// rounded before the end.
std::optional<PricedGemm>
Planner::planDevice(const Contraction &contraction) const {
  auto filter = [this](const GemmPlan &gemm) { return mayUse(gemm); };
  int64_t bytes = bytesOf(types()[0]);
  std::optional<PricedGemm> gemm =
      planGemm(contraction, {}, bytes, model, filter);
  if (gemm && spec.types.out != compute && !gemm->plan.summed.empty())
    gemm = planGemm(contraction, {false, false, true}, bytes, model, filter);
  return gemm;
}

/// Two operands of bf16, and their result, as they are; others as f32.
std::optional<PricedGemm>
Planner::planOneDNN(const Contraction &contraction) const {
  if (model.oneDNN == OneDNN::None || compute != ElementType::F32)
    return std::nullopt;
  auto [a, b] = types();
  bool isNarrow = isNarrowProduct(ProductLibrary::OneDNN, {a, b});
  if (isNarrow && model.oneDNN != OneDNN::BF16)
    return std::nullopt;
  bool convertsOut = spec.types.out != compute;
  auto planWith = [&](bool packsOut) {
    auto filter = [&](GemmPlan gemm) {
      gemm.library = ProductLibrary::OneDNN;
      return suitsOneDNN(gemm, isNarrow, model) && mayUse(gemm);
    };
    return planGemm(
        contraction,
        {!isNarrow && a != compute, !isNarrow && b != compute, packsOut},
        bytesOf(isNarrow ? a : compute), oneDNNModel(model, isNarrow), filter);
  };
  std::optional<PricedGemm> gemm = planWith(convertsOut && !isNarrow);
  if (gemm && convertsOut && !gemm->plan.summed.empty())
    gemm = planWith(true);
  if (gemm)
    gemm->plan.library = ProductLibrary::OneDNN;
  return gemm;
}

/// The cheapest product on the machine.
std::optional<PricedGemm>
Planner::planLibrary(const Contraction &contraction) const {
  if (model.isDevice)
    return planDevice(contraction);
  std::optional<PricedGemm> blas = planBLAS(contraction);
  std::optional<PricedGemm> oneDNN = planOneDNN(contraction);
  return oneDNN && (!blas || oneDNN->seconds < blas->seconds) ? oneDNN : blas;
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
