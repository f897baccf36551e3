// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The one loop of the interpreter that has to be fast.

#ifndef SHOAL_LIB_REFERENCE_MATRIXPRODUCT_H
#define SHOAL_LIB_REFERENCE_MATRIXPRODUCT_H

#include <cstdint>

namespace shoal::reference {

/// c[i][j] = sum over k, in ascending order, of a[i][k] * b[k][j]; row-major,
/// dense. Every product counts: 0 * NaN is NaN.
void multiply(const double *a, const double *b, double *c, int64_t rows,
              int64_t inner, int64_t columns);
/// Modulo 2^64.
void multiply(const uint64_t *a, const uint64_t *b, uint64_t *c, int64_t rows,
              int64_t inner, int64_t columns);

} // namespace shoal::reference

#endif // SHOAL_LIB_REFERENCE_MATRIXPRODUCT_H
