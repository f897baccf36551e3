// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Reference/Rounding.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace shoal::reference {

/// Rounds to `precision` significant bits, fewer below 2^minExponent, where
/// the type has subnormals.
static double roundToFormat(double value, int precision, int minExponent,
                            double largest) {
  if (!std::isfinite(value) || value == 0)
    return value;
  int unit = std::max(std::ilogb(value), minExponent) - (precision - 1);
  double rounded = std::scalbn(std::nearbyint(std::scalbn(value, -unit)), unit);
  if (std::abs(rounded) > largest)
    return std::copysign(std::numeric_limits<double>::infinity(), value);
  return rounded;
}

double roundTo(ElementType type, double value) {
  switch (type) {
  case ElementType::F32:
    return static_cast<float>(value);
  case ElementType::BF16:
    return roundToFormat(value, 8, -126, 0x1.fep127);
  case ElementType::F16:
    return roundToFormat(value, 11, -14, 65504);
  case ElementType::F8E5M2:
    return roundToFormat(value, 3, -14, 57344);
  case ElementType::F8E4M3FN: {
    double rounded = roundToFormat(value, 4, -6, 448);
    return std::isinf(rounded) ? std::numeric_limits<double>::quiet_NaN()
                               : rounded;
  }
  default:
    return value;
  }
}

unsigned bitWidth(ElementType type) {
  return type == ElementType::I1 ? 1 : 8 * support::elementSize(type);
}

uint64_t asUnsigned(ElementType type, int64_t value) {
  return static_cast<uint64_t>(value) & (~uint64_t(0) >> (64 - bitWidth(type)));
}

int64_t asSigned(ElementType type, int64_t value) {
  unsigned unused = 64 - bitWidth(type);
  return static_cast<int64_t>(static_cast<uint64_t>(value) << unused) >> unused;
}

int64_t wrapTo(ElementType type, int64_t value) {
  return type == ElementType::I1 ? value & 1 : asSigned(type, value);
}

double unspecifiedFloat() { return std::numeric_limits<double>::quiet_NaN(); }

int64_t unspecifiedInteger(ElementType type) {
  return type == ElementType::I1 ? 1 : wrapTo(type, 0x5A5A5A5A5A5A5A5A);
}

} // namespace shoal::reference
