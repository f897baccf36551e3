// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/SlabExchange.h"
#include "shoal/Sharding/Mesh.h"

using namespace shoal;

/// Slabs sent when dimension sizes of `size` are cut into `shards` parts, the
/// padding of the last one included.
static double sharedSlabs(int64_t size, int64_t shards) {
  double padded = double(shardSize(size, shards)) * shards / size;
  return 2.0 * (shards - 1) / shards * padded;
}

std::optional<unsigned> shoal::sharedSlabDim(llvm::ArrayRef<int64_t> slab,
                                             int64_t shards) {
  std::optional<unsigned> best;
  double least = shards - 1;
  for (unsigned dim = 0; dim < slab.size(); ++dim) {
    if (slab[dim] == 0 || sharedSlabs(slab[dim], shards) >= least)
      continue;
    best = dim;
    least = sharedSlabs(slab[dim], shards);
  }
  return best;
}

double shoal::slabElementsSent(llvm::ArrayRef<int64_t> slab, int64_t shards) {
  double elements = 1;
  for (int64_t size : slab)
    elements *= size;
  std::optional<unsigned> dim = sharedSlabDim(slab, shards);
  return elements * (dim ? sharedSlabs(slab[*dim], shards) : shards - 1.0);
}
