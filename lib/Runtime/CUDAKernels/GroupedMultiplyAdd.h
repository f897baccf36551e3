// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Tiles of a grouped product by multiplications and additions; see Grouped.cu.

#ifndef SHOAL_LIB_RUNTIME_CUDAKERNELS_GROUPEDMULTIPLYADD_H
#define SHOAL_LIB_RUNTIME_CUDAKERNELS_GROUPEDMULTIPLYADD_H

#include "Elements.h"
#include "GroupedTile.h"

namespace shoal::rt {

/// Fused multiplications and additions, of float and double.
template <typename Wide>
struct MultiplyAdd {
  static constexpr int tile = 64, depth = 16, edge = 16, own = tile / edge;
  static constexpr int stage = 2 * tile * depth;

  Wide *shared;
  Wide sums[own][own];

  /// Neighbouring threads take neighbours of the denser loop.
  static SHOAL_DEVICE void loadPanel(const void *base, int32_t type,
                                     int64_t offset, int64_t lineStride,
                                     int64_t kStride, int64_t lines,
                                     int64_t beginK, int64_t endK,
                                     Wide *panel) {
    bool denseK = kStride < lineStride;
    for (int at = threadInBlock(); at < tile * depth; at += blockThreads) {
      int line = denseK ? at / depth : at % tile;
      int k = denseK ? at % depth : at / tile;
      bool exists = line < lines && k >= beginK && k < endK;
      panel[k * tile + line] =
          exists ? loadElement<Wide>(base, type,
                                     offset + line * lineStride + k * kStride)
                 : Wide(0);
    }
  }

  SHOAL_DEVICE void multiply(const GroupedParameters &p,
                             const TileProduct &product) {
    Wide *a = shared, *b = shared + tile * depth;
    int row = threadInBlock() / edge * own, column = threadInBlock() % edge;
    SHOAL_UNROLL
    for (auto &line : sums) {
      SHOAL_UNROLL
      for (Wide &sum : line)
        sum = 0;
    }
    for (int64_t k = product.beginK; k < product.endK; k += depth) {
      loadPanel(p.a, p.typeIn,
                product.a + product.row * p.aStrides[0] + k * p.aStrides[1],
                p.aStrides[0], p.aStrides[1], p.m - product.row, 0,
                product.endK - k, a);
      loadPanel(p.b, p.typeIn,
                product.b + product.column * p.bStrides[1] + k * p.bStrides[0],
                p.bStrides[1], p.bStrides[0], p.n - product.column, 0,
                product.endK - k, b);
      barrier();
      SHOAL_UNROLL
      for (int t = 0; t < depth; ++t) {
        SHOAL_UNROLL
        for (int i = 0; i < own; ++i) {
          SHOAL_UNROLL
          for (int j = 0; j < own; ++j)
            sums[i][j] +=
                a[t * tile + row + i] * b[t * tile + column + j * edge];
        }
      }
      barrier();
    }
  }

  template <typename Store>
  SHOAL_DEVICE void forEachSum(Store store) {
    int row = threadInBlock() / edge * own, column = threadInBlock() % edge;
    SHOAL_UNROLL
    for (int i = 0; i < own; ++i) {
      SHOAL_UNROLL
      for (int j = 0; j < own; ++j)
        store(row + i, column + j * edge, sums[i][j]);
    }
    barrier();
  }
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDAKERNELS_GROUPEDMULTIPLYADD_H
