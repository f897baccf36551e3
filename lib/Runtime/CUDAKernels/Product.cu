// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products and sums over strided loops, see Parameters.h.

#include "Elements.h"

using namespace shoal::rt;

template <typename Wide>
static SHOAL_DEVICE Wide term(const ProductParameters &p,
                              const int64_t (&outer)[3], auto index) {
  int64_t at[2];
  locate(p.summed, index, at);
  Wide a = loadElement<Wide>(p.a, p.typeIn, outer[0] + at[0]);
  if (!p.b)
    return a;
  return combineWide(p.product, a,
                     loadElement<Wide>(p.b, p.typeIn, outer[1] + at[1]));
}

/// 0, also for or.
template <typename Wide>
static SHOAL_DEVICE void products(const ProductParameters &p) {
  forEachItem(p.outer.count, [&](auto t) {
    int64_t at[3];
    locate(p.outer, t, at);
    Wide sum = 0;
    forEachIndex(0, 1, p.summed.count, [&](auto i) {
      sum = combineWide(p.sum, sum, term<Wide>(p, at, i));
    });
    storeElement(p.result, p.typeOut, at[2], sum);
  });
}

/// Neighbouring threads take neighbouring terms; their sums are combined by
/// shuffles, then through shared memory, in a fixed order.
template <typename Wide>
static SHOAL_DEVICE void productRows(const ProductParameters &p) {
  SHOAL_SHARED(Wide, warpSums, blockWarps);
  for (int64_t t = blockInGrid(); t < p.outer.count; t += blocksInGrid()) {
    int64_t at[3];
    locate(p.outer, t, at);
    Wide sum = 0;
    forEachIndex(threadInBlock(), blockThreads, p.summed.count, [&](auto i) {
      sum = combineWide(p.sum, sum, term<Wide>(p, at, i));
    });
    for (int mask = warpLanes / 2; mask > 0; mask /= 2)
      sum = combineWide(p.sum, sum, shuffleXor(sum, mask));
    if (laneInWarp() == 0)
      warpSums[warpInBlock()] = sum;
    barrier();
    if (threadInBlock() == 0) {
      for (int warp = 1; warp < blockWarps; ++warp)
        sum = combineWide(p.sum, sum, warpSums[warp]);
      storeElement(p.result, p.typeOut, at[2], sum);
    }
    barrier(); // before the sums are written again
  }
}

/// Cut to the rows that exist.
static SHOAL_DEVICE int64_t boundAt(const RaggedParameters &p,
                                    const void *bounds, int64_t at) {
  auto bound = loadElement<int64_t>(bounds, p.boundType, at);
  return bound < 0 ? 0 : bound > p.rows ? p.rows : bound;
}

/// Coordinate of the loop `which` in iteration `index`.
template <int N, typename Index>
static SHOAL_DEVICE int64_t coordinateOf(const Nest<N> &nest, Index index,
                                         int which) {
  for (int l = nest.rank - 1; l > which; --l)
    index = divide(index, nest.size[l]).quotient;
  return divide(index, nest.size[which]).rest;
}

/// The terms of one row of a group; offsets are those of the row.
template <typename Wide>
static SHOAL_DEVICE Wide sumRow(const RaggedParameters &p, Wide sum,
                                int64_t in0, int64_t in1) {
  forEachIndex(0, 1, p.summed.count, [&](auto i) {
    int64_t at[2];
    locate(p.summed, i, at);
    Wide a = loadElement<Wide>(p.in0, p.typeIn, in0 + at[0]);
    Wide b = loadElement<Wide>(p.in1, p.typeIn, in1 + at[1]);
    sum = combineWide(p.sum, sum, combineWide(p.product, a, b));
  });
  return sum;
}

template <typename Wide>
static SHOAL_DEVICE void ragged(const RaggedParameters &p) {
  forEachItem(p.outer.count, [&](auto t) {
    int64_t at[3];
    locate(p.outer, t, at);
    int64_t row = p.rowLoop < 0 ? -1 : coordinateOf(p.outer, t, p.rowLoop);
    Wide result = 0;
    for (int64_t g = 0; g < p.groups.count; ++g) {
      int64_t group[3];
      locate(p.groups, static_cast<uint32_t>(g), group);
      int64_t begin = boundAt(p, p.begins, at[2] + group[2]);
      int64_t end = boundAt(p, p.ends, at[2] + group[2]);
      int64_t in0 = at[0] + group[0], in1 = at[1] + group[1];
      if (begin >= end || (row >= 0 && (row < begin || row >= end)))
        continue;
      Wide sum = 0;
      if (row >= 0)
        sum = sumRow(p, sum, in0, in1);
      else
        for (int64_t r = begin; r < end; ++r)
          sum = sumRow(p, sum, in0 + r * p.rowStrides[0],
                       in1 + r * p.rowStrides[1]);
      result = roundTo(p.typeOut,
                       combineWide(p.sum, result, roundTo(p.typeOut, sum)));
    }
    storeElement(p.out, p.typeOut, t, result);
  });
}

#define SHOAL_PRODUCTS(wide, Wide)                                             \
  SHOAL_KERNEL(shoal_product_##wide, ProductParameters) { products<Wide>(p); } \
  SHOAL_KERNEL(shoal_product_rows_##wide, ProductParameters) {                 \
    productRows<Wide>(p);                                                      \
  }                                                                            \
  SHOAL_KERNEL(shoal_ragged_##wide, RaggedParameters) { ragged<Wide>(p); }

SHOAL_PRODUCTS(float, float)
SHOAL_PRODUCTS(double, double)
SHOAL_PRODUCTS(integer, int64_t)
