// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Generators.h"
#include "shoal/Dialect/Shoal/IR/NNOps.h"
#include <cmath>

using namespace mlir;
using namespace shoal;
using namespace shoal::fuzz;

static bool makeActivation(ProgramBuilder &p) {
  static constexpr const char *names[] = {"shoal.relu", "shoal.silu",
                                          "shoal.gelu"};
  Known a = *p.pickFloat();
  StringRef name = p.choices.pick(names);
  Bounds range = name == "shoal.relu"
                     ? a.range
                     : smooth(a.range, a.range.bound, 1.2, a.element());
  if (!isUsable(range, a.element()) || a.range.bound > 1e4)
    return false;
  p.add(p.op(name, a.value, a.type())->getResult(0), range);
  return true;
}

static bool makeSoftmax(ProgramBuilder &p) {
  Known a = *p.pickFloat(1);
  int64_t axis = p.choices.below(a.type().getRank());
  Bounds range = smooth(a.range, 1, 1, a.element());
  range.error *= a.shape()[axis];
  if (!isUsable(range, a.element()) || a.range.bound > 100)
    return false;
  p.add(SoftmaxOp::create(p.builder, p.loc, a.type(), a.value, axis), range);
  return true;
}

/// Rows of n elements brought to a common size, then scaled. A variance or mean
/// square of epsilon = 1 and more does not enlarge errors.
static Bounds rangeOfNorm(const Known &a, Bounds scale, double n) {
  Bounds range =
      smooth(either(a.range, scale), std::sqrt(n) * scale.bound,
             (4 + a.range.bound) * n * (1 + scale.bound), a.element());
  // The mean and the deviations from it are rounded, at the operand's scale.
  range.error +=
      std::ldexp(a.range.bound * n * scale.bound, 5 - precisionOf(a.element()));
  return range;
}

static bool makeLayerNorm(ProgramBuilder &p) {
  Known a = *p.pickFloat(1);
  int64_t axis = p.choices.below(a.type().getRank()), n = a.shape()[axis];
  auto vector = p.tensor(n, a.element());
  Known scale = p.pickOfType(vector), bias = p.pickOfType(vector);
  Bounds range = sum(rangeOfNorm(a, scale.range, n), bias.range, a.element());
  if (!isUsable(range, a.element()) || a.range.bound > 30)
    return false;
  p.add(LayerNormOp::create(p.builder, p.loc, a.type(), a.value, scale.value,
                            bias.value, axis, APFloat(1.0)),
        range);
  return true;
}

static bool makeRMSNorm(ProgramBuilder &p) {
  Known a = *p.pickFloat(1);
  int64_t axis = p.choices.below(a.type().getRank()), n = a.shape()[axis];
  Known scale = p.pickOfType(p.tensor(n, a.element()));
  Bounds range = rangeOfNorm(a, scale.range, n);
  if (!isUsable(range, a.element()) || a.range.bound > 30)
    return false;
  p.add(RMSNormOp::create(p.builder, p.loc, a.type(), a.value, scale.value,
                          axis, APFloat(1.0)),
        range);
  return true;
}

static bool makeOneHot(ProgramBuilder &p) {
  Known a = p.pickOr(
      [](const Known &k) { return !k.isFloat() && !k.element().isInteger(1); },
      [&] { return p.tensor(p.shape(0, 3), p.integerType()); });
  int64_t dim = p.choices.below(a.type().getRank() + 1);
  SmallVector<int64_t> shape(a.shape());
  shape.insert(shape.begin() + dim, p.size());
  if (!p.fits(shape))
    return false;
  Type element = p.elementType();
  p.add(OneHotOp::create(p.builder, p.loc, p.tensor(shape, element), a.value,
                         dim),
        {1, 0, 0});
  return true;
}

/// On gates that are exact, so that all ways route alike: multiples of 1/4 and
/// 1/8 as they come from small integers.
static bool makeGating(ProgramBuilder &p) {
  Known gates = p.pickOr(
      [](const Known &k) {
        return k.isFloat() && k.canBeSummed() && k.type().getRank() == 3 &&
               k.range.isExact() && k.range.bound < 100;
      },
      [&] { return p.tensor(p.shape(3, 3), p.floatType()); });
  Type element = gates.element();
  // Positive: the weights are divided by their sum.
  Known one = p.constant(gates.type(), 1);
  Value magnitude = p.op("math.absf", gates.value, gates.type())->getResult(0);
  Bounds above = sum(gates.range, one.range, element);
  if (!above.isExact())
    return false;
  Value positive =
      p.op("arith.addf", {magnitude, one.value}, gates.type())->getResult(0);
  if (gates.shape()[2] == 0)
    return false;
  int64_t k = 1 + p.choices.below(std::min<int64_t>(gates.shape()[2], 3));
  int64_t capacity = 1 + p.choices.below(5);
  SmallVector<int64_t> shape(gates.shape());
  shape.push_back(capacity);
  if (!p.fits(shape))
    return false;
  auto type = p.tensor(shape, element);
  auto op = TopKGatingOp::create(
      p.builder, p.loc, type, type, p.tensor({}, element), positive,
      /*key=*/Value(), p.builder.getI64IntegerAttr(k),
      p.builder.getI64IntegerAttr(capacity), FloatAttr(),
      p.builder.getI64IntegerAttr(4));
  p.add(op.getCombine(), smooth({1, 0, 0}, 1, 0, element));
  p.add(op.getDispatch(), {1, 0, 0});
  double tokens = gates.shape()[0] * gates.shape()[1] * gates.shape()[2];
  Bounds aux = smooth({1, 0, 0}, above.bound, 0, element);
  aux.error *= tokens;
  if (isUsable(aux, element))
    p.add(op.getAux(), aux);
  return true;
}

void shoal::fuzz::addNNGenerators(Generators &generators) {
  generators.add("activation", makeActivation, 4);
  generators.add("shoal.softmax", makeSoftmax, 6);
  generators.add("shoal.layer_norm", makeLayerNorm, 4);
  generators.add("shoal.rms_norm", makeRMSNorm, 4);
  generators.add("shoal.one_hot", makeOneHot, 6);
  generators.add("shoal.top_k_gating", makeGating, 3);
}
