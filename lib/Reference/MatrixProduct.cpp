// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "MatrixProduct.h"

#include <algorithm>

namespace shoal::reference {

/// Adds the product of `height` rows of a with columns [begin, end) of b: the
/// row of b that is in the cache serves all of them.
template <int height, typename T>
static void addStrip(const T *a, const T *b, T *c, int64_t inner,
                     int64_t columns, int64_t begin, int64_t end) {
  for (int64_t k = 0; k < inner; ++k)
    for (int64_t j = begin; j < end; ++j)
      for (int row = 0; row < height; ++row)
        c[row * columns + j] += a[row * inner + k] * b[k * columns + j];
}

template <typename T>
static void multiplyBlocked(const T *a, const T *b, T *c, int64_t rows,
                            int64_t inner, int64_t columns) {
  constexpr int64_t height = 4, width = 256;
  std::fill_n(c, rows * columns, T(0));
  for (int64_t begin = 0; begin < columns; begin += width) {
    int64_t end = std::min(columns, begin + width), i = 0;
    for (; i + height <= rows; i += height)
      addStrip<height>(a + i * inner, b, c + i * columns, inner, columns, begin,
                       end);
    for (; i < rows; ++i)
      addStrip<1>(a + i * inner, b, c + i * columns, inner, columns, begin,
                  end);
  }
}

void multiply(const double *a, const double *b, double *c, int64_t rows,
              int64_t inner, int64_t columns) {
  multiplyBlocked(a, b, c, rows, inner, columns);
}

void multiply(const uint64_t *a, const uint64_t *b, uint64_t *c, int64_t rows,
              int64_t inner, int64_t columns) {
  multiplyBlocked(a, b, c, rows, inner, columns);
}

} // namespace shoal::reference
