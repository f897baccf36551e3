// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of the products that are loops: the only code of them that knows types.

#ifndef SHOAL_LIB_RUNTIME_CPU_PRODUCTROWS_H
#define SHOAL_LIB_RUNTIME_CPU_PRODUCTROWS_H

#include "../Program/Numeric.h"

namespace shoal::rt {

/// Rows of `count` elements of two operands, with strides in elements; a stride
/// of 0 repeats one. `to` has accumulators of the type. All in registers: rows
/// may be short.
using ProductRow = void (*)(int64_t count, const char *a, int64_t strideA,
                            const char *b, int64_t strideB, char *to);

/// Of one type of operands. What is computed is in the type that sums of it are
/// held in, its accumulator.
struct ProductRows {
  /// to[i] = a[i] * b[i]
  ProductRow multiply;
  /// So, rounded to the type of the operands.
  ProductRow multiplyRounded;
  /// to[i] += a[i] * b[i]
  ProductRow accumulate;
  /// *to += a[0] * b[0] + a[1] * b[1] + ..., in lanes, in a fixed order.
  ProductRow dot;
  /// to[i] = 0
  void (*clear)(int64_t count, char *to);
};

ProductRows productRowsFor(ElementType type);

/// Rounds accumulators of f32 to small floats.
using RoundRow = void (*)(int64_t count, const char *from, char *to);
RoundRow roundRowFor(ElementType type);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CPU_PRODUCTROWS_H
