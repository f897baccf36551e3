// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../Program/Calls.h"
#include "Device.h"
#include "KernelLibrary.h"
#include "SortLines.h"
#include "StridedCopy.h"
#include "shoal/Calls/OrderingScratch.h"

using namespace shoal::rt;

/// A warp reads its row once for each of the k: for the few experts of gating.
static void selectInRounds(const TopKParameters &p, ElementType type,
                           cudaStream_t stream) {
  auto width = static_cast<int64_t>(shoal::support::elementSize(type));
  launch(stream, "shoal_top_k", blocksFor(p.rows, blockWarps), p,
         {{p.in, p.rows * p.n * width, Access::Read},
          {p.values, p.rows * p.k * width, Access::Write},
          {p.indices, p.rows * p.k * 4, Access::Write}});
}

static void selectBySorting(const TopKParameters &p, ElementType type,
                            Scratch &scratch, cudaStream_t stream) {
  LineSorter sorter({p.rows, p.n, 1}, scratch, stream);
  SortKey key{type, p.in};
  SortedLines sorted = sorter.sort({&key, 1}, /*descending=*/true);
  sorter.move(sorted, p.k, type, p.in, p.values);
  copyStrided({{p.rows, {p.n, p.k}}, {p.k, {1, 1}}}, ElementType::I32,
              sorted.places, ElementType::I32, p.indices, stream);
}

extern "C" void shoal_rt_top_k(const int64_t *desc, const void *in,
                               void *values, int32_t *indices, void *scratch) {
  const auto &call = lookUp<TopKCall>(desc);
  Lines rows(call.shape, static_cast<int64_t>(call.shape.size()) - 1);
  ElementType type = call.type;
  TopKParameters p{};
  p.k = call.k;
  p.n = rows.count;
  p.rows = rows.number();
  p.type = static_cast<int32_t>(type);
  p.in = in;
  p.values = values;
  p.indices = indices;
  if (p.k == 0 || p.rows == 0)
    return;
  cudaStream_t stream = Device::get().compute();
  Scratch pieces(scratch, scratchBytes(call, /*onDevice=*/true));
  if (selectsBySorting(call, /*onDevice=*/true))
    selectBySorting(p, type, pieces, stream);
  else
    selectInRounds(p, type, stream);
}
