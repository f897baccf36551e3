// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which dimensions of a reshape's two shapes hold the same elements.

#ifndef SHOAL_SHARDING_RESHAPEGROUPS_H
#define SHOAL_SHARDING_RESHAPEGROUPS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace shoal {

/// Dimensions [fromBegin, fromEnd) and [toBegin, toEnd) of equal products, each
/// beginning with one of a size other than 1.
struct ReshapeGroup {
  unsigned fromBegin, fromEnd, toBegin, toEnd;
  bool operator==(const ReshapeGroup &) const = default;
};

/// The finest cut of two shapes of equally many elements, not none, into such
/// groups, major to minor. Dimensions of size 1 between groups are in none.
llvm::SmallVector<ReshapeGroup> groupDims(llvm::ArrayRef<int64_t> from,
                                          llvm::ArrayRef<int64_t> to);

} // namespace shoal

#endif // SHOAL_SHARDING_RESHAPEGROUPS_H
