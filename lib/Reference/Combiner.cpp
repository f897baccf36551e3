// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Combiner.h"

#include <cmath>
#include <limits>

namespace shoal::reference {

double maximum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  if (a == b)
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

double minimum(double a, double b) { return -maximum(-a, -b); }

/// The largest number of f8E4M3FN, which has no infinity.
static double greatest(ElementType type) {
  return type == ElementType::F8E4M3FN
             ? 448
             : std::numeric_limits<double>::infinity();
}

static double floatIdentity(ReduceKind kind, ElementType type) {
  switch (kind) {
  case ReduceKind::Prod:
    return 1;
  case ReduceKind::Max:
    return -greatest(type);
  case ReduceKind::Min:
    return greatest(type);
  default:
    return 0;
  }
}

static int64_t integerIdentity(ReduceKind kind, ElementType type) {
  int64_t smallest = asSigned(type, int64_t(1) << (bitWidth(type) - 1));
  switch (kind) {
  case ReduceKind::Prod:
    return 1;
  case ReduceKind::And:
    return -1;
  case ReduceKind::Max:
    return smallest;
  case ReduceKind::Min:
    return ~smallest;
  default:
    return 0;
  }
}

/// Of truth values, whether all must be true and not just any.
static bool needsAll(ReduceKind kind) {
  return kind == ReduceKind::Prod || kind == ReduceKind::Min ||
         kind == ReduceKind::And;
}

Scalar Combiner::identity() const {
  if (isFloat(type))
    return {.f = floatIdentity(kind, type)};
  if (type == ElementType::I1)
    return {.i = needsAll(kind)};
  return {.i = integerIdentity(kind, type)};
}

static double combineFloats(ReduceKind kind, double a, double b) {
  switch (kind) {
  case ReduceKind::Sum:
    return a + b;
  case ReduceKind::Prod:
    return a * b;
  case ReduceKind::Max:
    return maximum(a, b);
  case ReduceKind::Min:
    return minimum(a, b);
  default:
    llvm_unreachable("bitwise reduction of floats");
  }
}

static int64_t combineIntegers(ReduceKind kind, int64_t a, int64_t b) {
  switch (kind) {
  case ReduceKind::Sum:
    return static_cast<int64_t>(uint64_t(a) + uint64_t(b));
  case ReduceKind::Prod:
    return static_cast<int64_t>(uint64_t(a) * uint64_t(b));
  case ReduceKind::Max:
    return std::max(a, b);
  case ReduceKind::Min:
    return std::min(a, b);
  case ReduceKind::And:
    return a & b;
  case ReduceKind::Or:
    return a | b;
  }
  llvm_unreachable("unknown reduction");
}

Scalar Combiner::combine(Scalar a, Scalar b) const {
  if (isFloat(type))
    return {.f = combineFloats(kind, a.f, b.f)};
  if (type == ElementType::I1)
    return {.i = needsAll(kind) ? a.i & b.i : a.i | b.i};
  return {.i = combineIntegers(kind, a.i, b.i)};
}

Scalar Combiner::finish(Scalar accumulated) const {
  if (isFloat(type))
    return {.f = roundTo(type, accumulated.f)};
  return {.i = wrapTo(type, accumulated.i)};
}

} // namespace shoal::reference
