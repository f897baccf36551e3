// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Products of groups of rows whose bounds only the device knows, see
// GroupedParameters. A block takes a tile of the result and goes through the
// groups that touch it, so that the tiles are the same whatever the bounds are:
// the host need not know them. A tile that several groups share is computed for
// each of them, of which there are no more than groups. Rows of no group are
// zero.

#include "GroupedMultiplyAdd.h"
#include "GroupedTensorCore.h"

using namespace shoal::rt;

namespace {

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
      locate(p.groups, static_cast<uint32_t>(g), group);
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
