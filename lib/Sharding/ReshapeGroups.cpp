// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/ReshapeGroups.h"

using namespace shoal;

static unsigned skipOnes(llvm::ArrayRef<int64_t> shape, unsigned dim) {
  while (dim < shape.size() && shape[dim] == 1)
    ++dim;
  return dim;
}

llvm::SmallVector<ReshapeGroup> shoal::groupDims(llvm::ArrayRef<int64_t> from,
                                                 llvm::ArrayRef<int64_t> to) {
  llvm::SmallVector<ReshapeGroup> groups;
  unsigned i = skipOnes(from, 0), j = skipOnes(to, 0);
  while (i < from.size() && j < to.size()) {
    ReshapeGroup group{i, i, j, j};
    int64_t fromProduct = from[group.fromEnd++], toProduct = to[group.toEnd++];
    while (fromProduct != toProduct) {
      if (fromProduct < toProduct)
        fromProduct *= from[group.fromEnd++];
      else
        toProduct *= to[group.toEnd++];
    }
    groups.push_back(group);
    i = skipOnes(from, group.fromEnd);
    j = skipOnes(to, group.toEnd);
  }
  return groups;
}
