// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Plans of standard collectives alone.

#ifndef SHOAL_LIB_SHARDING_COLLECTIVEPLAN_H
#define SHOAL_LIB_SHARDING_COLLECTIVEPLAN_H

#include "shoal/Sharding/ReshardPlan.h"
#include <optional>

namespace shoal {

/// In order, each only where needed:
///   1. slice axes that are idle in the source and split the target;
///   2. reduce_scatter axes that are partial in the source and split the
///      target;
///   3. all_to_all axes that change dimension, those of several dimensions in
///      one exchange where no dimension both gives and takes;
///   4. collective_permute, where axes of a dimension are in another order;
///   5. all_reduce axes that are partial and replicate in the target;
///   6. all_gather axes that the target does not use.
/// Every intermediate state is contiguous: a list of axes per dimension.
/// Nothing where a step would need rows of a neighbour: on a dimension that
/// does not divide evenly, blocks of n / p and n / (p q) rows may have no
/// common boundaries (14 rows over 2, and over 2 x 4).
std::optional<ReshardPlan> planCollectives(llvm::ArrayRef<int64_t> shape,
                                           const Sharding &source,
                                           const Sharding &target,
                                           const Mesh &mesh);

/// Whether blocks over `outer` devices are unions of the blocks over
/// `outer * inner`.
bool blocksNest(int64_t n, int64_t outer, int64_t inner);

} // namespace shoal

#endif // SHOAL_LIB_SHARDING_COLLECTIVEPLAN_H
