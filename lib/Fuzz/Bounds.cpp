// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Fuzz/Bounds.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>

using namespace mlir;
using namespace shoal::fuzz;

/// Below every float's smallest step.
static constexpr int kNoQuantum = -1100;

static const llvm::fltSemantics &semanticsOf(Type element) {
  return cast<FloatType>(element).getFloatSemantics();
}

int shoal::fuzz::precisionOf(Type element) {
  if (!isa<FloatType>(element))
    return 0;
  return llvm::APFloat::semanticsPrecision(semanticsOf(element));
}

double shoal::fuzz::largestOf(Type element) {
  if (isa<FloatType>(element))
    return std::ldexp(
        1.0, llvm::APFloat::semanticsMaxExponent(semanticsOf(element)));
  unsigned width = element.getIntOrFloatBitWidth();
  return width == 1 ? 1 : std::ldexp(1.0, width - 1);
}

Bounds shoal::fuzz::anyInteger(Type element) {
  return {largestOf(element), 0, 0};
}

static bool isRepresentable(Bounds range, Type element) {
  return range.bound <= std::ldexp(1.0, range.quantum + precisionOf(element));
}

Bounds shoal::fuzz::roundedAlike(Bounds range, Type element) {
  if (!isa<FloatType>(element))
    return {std::min(range.bound, largestOf(element)), 0, 0};
  if (range.error > 0 || !isRepresentable(range, element))
    range.quantum = kNoQuantum;
  return range;
}

Bounds shoal::fuzz::rounded(Bounds range, Type element) {
  Bounds result = roundedAlike(range, element);
  if (isa<FloatType>(element) && result.quantum == kNoQuantum)
    result.error += std::ldexp(range.bound, 1 - precisionOf(element));
  return result;
}

bool shoal::fuzz::isUsable(Bounds range, Type element) {
  if (!isa<FloatType>(element))
    return true;
  return range.bound <= largestOf(element) / 4 &&
         range.error <= 0.02 * std::max(range.bound, 1e-3);
}

Bounds shoal::fuzz::sum(Bounds x, Bounds y, Type element) {
  return rounded(
      {x.bound + y.bound, std::min(x.quantum, y.quantum), x.error + y.error},
      element);
}

Bounds shoal::fuzz::product(Bounds x, Bounds y, Type element) {
  return rounded({x.bound * y.bound,
                  std::max(x.quantum + y.quantum, kNoQuantum),
                  x.error * y.bound + y.error * x.bound},
                 element);
}

Bounds shoal::fuzz::sumOf(int64_t n, Bounds x, Type element) {
  double terms = std::max<int64_t>(n, 1);
  Bounds result =
      rounded({x.bound * terms, x.quantum, x.error * terms}, element);
  // Each of the n - 1 additions rounds.
  if (result.error > 0)
    result.error += terms * std::ldexp(result.bound, 1 - precisionOf(element));
  return result;
}

std::optional<Bounds> shoal::fuzz::rangeOfReduction(ReduceKind kind,
                                                    Bounds range, int64_t n,
                                                    Type element) {
  bool isFloat = isa<FloatType>(element);
  switch (kind) {
  case ReduceKind::Max:
  case ReduceKind::Min:
    // An infinity is the largest of none.
    if (n == 0 && isFloat)
      return std::nullopt;
    return n == 0 ? anyInteger(element) : range;
  case ReduceKind::Sum:
    return sumOf(n, range, element);
  case ReduceKind::Prod:
    // Products in any order: exact while the largest one is.
    range.bound = std::pow(std::max(range.bound, 1.0), double(n));
    if (!range.isWhole() && isFloat)
      return std::nullopt;
    return rounded(range, element);
  case ReduceKind::And:
  case ReduceKind::Or:
    return anyInteger(element);
  }
  llvm_unreachable("all kinds are listed");
}

Bounds shoal::fuzz::either(Bounds x, Bounds y) {
  return {std::max(x.bound, y.bound), std::min(x.quantum, y.quantum),
          std::max(x.error, y.error)};
}

Bounds shoal::fuzz::smooth(Bounds x, double bound, double slope, Type element) {
  return {bound, kNoQuantum,
          slope * x.error + std::ldexp(bound, 3 - precisionOf(element))};
}
