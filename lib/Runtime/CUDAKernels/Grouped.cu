// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Products of groups of rows whose bounds only the device knows, see
// GroupedParameters. A block takes a tile of the result and goes through the
// groups that touch it, so that the tiles are the same whatever the bounds are:
// the host need not know them. A tile that several groups share is computed for
// each of them, of which there are no more than groups. Rows of no group are
// zero.

#include "Fragments.h"

using namespace shoal::rt;

namespace {

/// One group's product of a tile.
struct TileProduct {
  /// Of row, column and term 0.
  int64_t a, b;
  /// Of the tile in the result's part.
  int64_t row, column;
  int64_t beginK, endK;
};

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

/// A tile of the result and the groups that it belongs to.
template <typename Wide, typename Core>
struct Tile {
  const GroupedParameters &p;
  Core &core;
  int64_t at[4]; // of the part: a, b, bounds, the result
  int64_t row, column;
  bool isWritten = false;

  /// Of element (i, j) of the tile.
  SHOAL_DEVICE int64_t placeOf(int64_t i, int64_t j) const {
    return at[3] + (row + i) * p.cStrides[0] + (column + j) * p.cStrides[1];
  }
  SHOAL_DEVICE bool exists(int64_t i, int64_t j) const {
    return row + i < p.m && column + j < p.n;
  }

  SHOAL_DEVICE void clear() {
    for (int e = threadInBlock(); e < Core::tile * Core::tile;
         e += blockThreads) {
      int i = e / Core::tile, j = e % Core::tile;
      if (exists(i, j))
        storeElement(p.out, p.typeOut, placeOf(i, j), Wide(0));
    }
    isWritten = true;
    barrier();
  }

  SHOAL_DEVICE int64_t boundAt(const void *bounds, int64_t place) const {
    auto bound = loadElement<int64_t>(bounds, p.boundType, place);
    int64_t rows = p.rowsAreTerms ? p.k : p.m;
    return bound < 0 ? 0 : bound > rows ? rows : bound;
  }

  /// The rows [begin, end) of the result are those of the group.
  SHOAL_DEVICE void addGroup(const TileProduct &product, int64_t begin,
                             int64_t end) {
    int64_t last = row + Core::tile < p.m ? row + Core::tile : p.m;
    bool covers = begin <= row && end >= last;
    if (!covers && !isWritten)
      clear();
    core.multiply(p, product);
    bool adds = isWritten;
    core.forEachSum([&](int64_t i, int64_t j, Wide sum) {
      if (!exists(i, j) || row + i < begin || row + i >= end)
        return;
      int64_t place = placeOf(i, j);
      if (adds)
        sum = loadElement<Wide>(p.out, p.typeOut, place) +
              roundTo(p.typeOut, sum);
      storeElement(p.out, p.typeOut, place, sum);
    });
    isWritten = true;
  }

  SHOAL_DEVICE void run() {
    for (int64_t g = 0; g < p.groups.count; ++g) {
      int64_t group[3];
      locate(p.groups, g, group);
      int64_t begin = boundAt(p.begins, at[2] + group[2]);
      int64_t end = boundAt(p.ends, at[2] + group[2]);
      TileProduct product = {
          at[0] + group[0], at[1] + group[1], row, column, 0, p.k};
      if (begin >= end)
        continue;
      if (p.rowsAreTerms) {
        product.beginK = begin;
        product.endK = end;
        addGroup(product, 0, p.m);
      } else if (begin < row + Core::tile && end > row) {
        addGroup(product, begin, end);
      }
    }
    if (!isWritten)
      clear();
  }
};

/// Blocks go through the tiles in steps of the grid, rows first: neighbours
/// share a panel of the weights.
template <typename Wide, typename Core>
SHOAL_DEVICE void multiplyGroups(const GroupedParameters &p, Core &core) {
  int64_t down = (p.m + Core::tile - 1) / Core::tile;
  int64_t across = (p.n + Core::tile - 1) / Core::tile;
  for (int64_t t = blockInGrid(); t < p.batch.count * down * across;
       t += blocksInGrid()) {
    Tile<Wide, Core> tile{
        p, core, {}, t % down * Core::tile, t / down % across * Core::tile};
    locate(p.batch, t / down / across, tile.at);
    tile.run();
  }
}

} // namespace

#define SHOAL_GROUPED_TENSOR(name, T, aDenseK, bDenseK)                        \
  SHOAL_KERNEL(name, GroupedParameters) {                                      \
    using Core = TensorCore<T, aDenseK, bDenseK>;                              \
    SHOAL_SHARED(Core::Chunk, shared, Core::stage / Core::vector);             \
    Core core;                                                                 \
    core.shared = reinterpret_cast<T *>(shared);                               \
    multiplyGroups<float>(p, core);                                            \
  }
#define SHOAL_GROUPED_TENSORS(name, T)                                         \
  SHOAL_GROUPED_TENSOR(shoal_grouped_##name##_kk, T, true, true)               \
  SHOAL_GROUPED_TENSOR(shoal_grouped_##name##_kn, T, true, false)              \
  SHOAL_GROUPED_TENSOR(shoal_grouped_##name##_mk, T, false, true)              \
  SHOAL_GROUPED_TENSOR(shoal_grouped_##name##_mn, T, false, false)

SHOAL_GROUPED_TENSORS(bf16, BFloat16)
SHOAL_GROUPED_TENSORS(f16, Float16)

#define SHOAL_GROUPED_WIDE(name, Wide)                                         \
  SHOAL_KERNEL(name, GroupedParameters) {                                      \
    using Core = MultiplyAdd<Wide>;                                            \
    SHOAL_SHARED(Wide, shared, Core::stage);                                   \
    Core core;                                                                 \
    core.shared = shared;                                                      \
    multiplyGroups<Wide>(p, core);                                             \
  }

SHOAL_GROUPED_WIDE(shoal_grouped_float, float)
SHOAL_GROUPED_WIDE(shoal_grouped_double, double)
