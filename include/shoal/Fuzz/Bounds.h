// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What is known of a value's elements before the program runs, so that random
// programs stay within what floats can do and results are compared as strictly
// as their arithmetic allows.

#ifndef SHOAL_FUZZ_BOUNDS_H
#define SHOAL_FUZZ_BOUNDS_H

#include "mlir/IR/BuiltinTypes.h"
#include "shoal/Sharding/ReduceKind.h"
#include <optional>

namespace shoal::fuzz {

/// All elements are finite, at most `bound` in magnitude. Those of floats are
/// multiples of 2^quantum; where that leaves them within the type's precision,
/// sums are exact in any order and `error` stays 0: every way to run the
/// program gives the same bits. Else `error` bounds by how much two ways may
/// differ.
struct Bounds {
  double bound = 0;
  int quantum = 0;
  double error = 0;

  bool isExact() const { return error == 0; }
  /// Integers, also where they are stored as floats.
  bool isWhole() const { return isExact() && quantum >= 0; }
};

/// Bits of the significand, 0 for integers.
int precisionOf(mlir::Type element);
/// The largest magnitude of the type.
double largestOf(mlir::Type element);
/// All values of an integer type.
Bounds anyInteger(mlir::Type element);

/// The range after rounding to `element`: integers wrap; floats that need more
/// than the type's precision are no longer exact.
Bounds rounded(Bounds range, mlir::Type element);
/// Rounded alike in every way to run the program: one operation on operands
/// that are the same everywhere.
Bounds roundedAlike(Bounds range, mlir::Type element);
/// Whether a float of the type holds the values, with error that still tells
/// right from wrong.
bool isUsable(Bounds range, mlir::Type element);

/// x + y, x * y, and the sum of n values in any order; all rounded.
Bounds sum(Bounds x, Bounds y, mlir::Type element);
Bounds product(Bounds x, Bounds y, mlir::Type element);
Bounds sumOf(int64_t n, Bounds x, mlir::Type element);
/// A reduction of n values in any order, rounded; nothing where it may be
/// infinite, or differ from order to order.
std::optional<Bounds> rangeOfReduction(ReduceKind kind, Bounds range, int64_t n,
                                       mlir::Type element);
/// Either x or y.
Bounds either(Bounds x, Bounds y);
/// A function of the range's values that library versions round differently:
/// magnitude at most `bound`, slope at most `slope`.
Bounds smooth(Bounds x, double bound, double slope, mlir::Type element);

} // namespace shoal::fuzz

#endif // SHOAL_FUZZ_BOUNDS_H
