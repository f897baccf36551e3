// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Tiles of a grouped product of bf16 and f16 on tensor cores; see Grouped.cu.

#ifndef SHOAL_LIB_RUNTIME_CUDAKERNELS_GROUPEDTENSORCORE_H
#define SHOAL_LIB_RUNTIME_CUDAKERNELS_GROUPEDTENSORCORE_H

#include "Fragments.h"
#include "GroupedTile.h"

namespace shoal::rt {

/// A row-major or column-major part of an operand: `outer` x `dense` elements.
struct Panel {
  const void *base;
  int64_t offset, outerStride, denseStride;
  /// How many of them exist.
  int64_t outerBegin, outerEnd, denseBegin, denseEnd;
};

/// Tensor cores. kDense: whether the terms are dense in the operand, rather
/// than its rows or columns.
template <typename T, bool aDenseK, bool bDenseK>
struct TensorCore {
  static constexpr int tile = 128, depth = 32, padding = 8;
  static constexpr int aLeading = (aDenseK ? depth : tile) + padding;
  static constexpr int bLeading = (bDenseK ? depth : tile) + padding;
  static constexpr int aElements = (aDenseK ? tile : depth) * aLeading;
  static constexpr int bElements = (bDenseK ? tile : depth) * bLeading;
  static constexpr int stage = aElements + bElements;
  static constexpr int vector = 8; // 16 bytes
  static constexpr int loads = tile * depth / vector / blockThreads;
  /// A warp has 4 x 2 fragments, the warps lie 2 x 4.
  static constexpr int down = 4, across = 2;
  static_assert(2 * stage * sizeof(T) <= 48 * 1024);
  static_assert(blockWarps * fragmentSize * fragmentSize * sizeof(float) <=
                2 * stage * sizeof(T));

  struct alignas(16) Vector {
    T elements[vector];
  };
  /// As tiles are aligned.
  struct alignas(32) Chunk {
    T elements[2 * vector];
  };

  T *shared;
  SumFragment sums[down][across];

  /// Vector `number` of a panel of `dense` elements a line.
  template <int dense>
  static SHOAL_DEVICE Vector loadVector(const Panel &panel, int number) {
    int64_t line = number / (dense / vector);
    int64_t first = number % (dense / vector) * vector;
    Vector loaded{};
    if (line < panel.outerBegin || line >= panel.outerEnd)
      return loaded;
    const T *at = static_cast<const T *>(panel.base) + panel.offset +
                  line * panel.outerStride + first * panel.denseStride;
    if (panel.denseStride == 1 && first >= panel.denseBegin &&
        first + vector <= panel.denseEnd &&
        reinterpret_cast<uintptr_t>(at) % sizeof(Vector) == 0)
      return *reinterpret_cast<const Vector *>(at);
    SHOAL_UNROLL
    for (int i = 0; i < vector; ++i)
      if (first + i >= panel.denseBegin && first + i < panel.denseEnd)
        loaded.elements[i] = at[i * panel.denseStride];
    return loaded;
  }

  /// Terms [k, k + depth) of the rows or columns from `first` on, of `count`.
  template <bool denseK>
  static SHOAL_DEVICE Panel panelOf(const void *base, int64_t offset,
                                    int64_t lineStride, int64_t kStride,
                                    int64_t first, int64_t count, int64_t k,
                                    const TileProduct &product) {
    offset += first * lineStride + k * kStride;
    int64_t lines = count - first;
    int64_t begin = product.beginK - k, end = product.endK - k;
    if (denseK)
      return {base, offset, lineStride, kStride, 0, lines, begin, end};
    return {base, offset, kStride, lineStride, begin, end, 0, lines};
  }

  struct Loaded {
    Vector a[loads], b[loads];
  };

  static SHOAL_DEVICE Loaded load(const GroupedParameters &p,
                                  const TileProduct &product, int64_t k) {
    Panel a = panelOf<aDenseK>(p.a, product.a, p.aStrides[0], p.aStrides[1],
                               product.row, p.m, k, product);
    Panel b = panelOf<bDenseK>(p.b, product.b, p.bStrides[1], p.bStrides[0],
                               product.column, p.n, k, product);
    Loaded loaded;
    SHOAL_UNROLL
    for (int i = 0; i < loads; ++i) {
      int number = threadInBlock() + i * blockThreads;
      loaded.a[i] = loadVector<aDenseK ? depth : tile>(a, number);
      loaded.b[i] = loadVector<bDenseK ? depth : tile>(b, number);
    }
    return loaded;
  }

  template <int dense>
  static SHOAL_DEVICE void keepVector(const Vector &loaded, int number,
                                      T *panel, int leading) {
    int line = number / (dense / vector);
    int first = number % (dense / vector) * vector;
    *reinterpret_cast<Vector *>(panel + line * leading + first) = loaded;
  }

  SHOAL_DEVICE void keep(const Loaded &loaded, int half) {
    T *a = shared + half * stage, *b = a + aElements;
    SHOAL_UNROLL
    for (int i = 0; i < loads; ++i) {
      int number = threadInBlock() + i * blockThreads;
      keepVector<aDenseK ? depth : tile>(loaded.a[i], number, a, aLeading);
      keepVector<bDenseK ? depth : tile>(loaded.b[i], number, b, bLeading);
    }
  }

  static SHOAL_DEVICE int warpRow() {
    return warpInBlock() / 4 * down * fragmentSize;
  }
  static SHOAL_DEVICE int warpColumn() {
    return warpInBlock() % 4 * across * fragmentSize;
  }

  SHOAL_DEVICE void addStage(int half) {
    const T *a = shared + half * stage, *b = a + aElements;
    SHOAL_UNROLL
    for (int k = 0; k < depth; k += fragmentSize) {
      RightFragment<T, !bDenseK> right[across];
      SHOAL_UNROLL
      for (int j = 0; j < across; ++j) {
        int column = warpColumn() + j * fragmentSize;
        right[j].load(
            b + (bDenseK ? column * bLeading + k : k * bLeading + column),
            bLeading);
      }
      SHOAL_UNROLL
      for (int i = 0; i < down; ++i) {
        int row = warpRow() + i * fragmentSize;
        LeftFragment<T, aDenseK> left;
        left.load(a + (aDenseK ? row * aLeading + k : k * aLeading + row),
                  aLeading);
        SHOAL_UNROLL
        for (int j = 0; j < across; ++j)
          sums[i][j].add(left, right[j]);
      }
    }
  }

  /// While one stage is multiplied, the next one comes.
  SHOAL_DEVICE void multiply(const GroupedParameters &p,
                             const TileProduct &product) {
    SHOAL_UNROLL
    for (auto &row : sums) {
      SHOAL_UNROLL
      for (SumFragment &sum : row)
        sum.clear();
    }
    int half = 0;
    Loaded next = load(p, product, product.beginK);
    for (int64_t k = product.beginK; k < product.endK; k += depth) {
      keep(next, half);
      barrier();
      if (k + depth < product.endK)
        next = load(p, product, k + depth);
      addStage(half);
      half = 1 - half;
    }
    // The sums go through the same memory.
    barrier();
  }

  /// Calls store(row, column, value) for each sum of the tile.
  template <typename Store>
  SHOAL_DEVICE void forEachSum(Store store) {
    float *patch = reinterpret_cast<float *>(shared) +
                   warpInBlock() * fragmentSize * fragmentSize;
    SHOAL_UNROLL
    for (int i = 0; i < down; ++i)
      SHOAL_UNROLL
    for (int j = 0; j < across; ++j) {
      sums[i][j].store(patch);
      warpBarrier();
      for (int at = laneInWarp(); at < fragmentSize * fragmentSize;
           at += warpLanes)
        store(warpRow() + i * fragmentSize + at / fragmentSize,
              warpColumn() + j * fragmentSize + at % fragmentSize, patch[at]);
      warpBarrier();
    }
    barrier();
  }
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDAKERNELS_GROUPEDTENSORCORE_H
