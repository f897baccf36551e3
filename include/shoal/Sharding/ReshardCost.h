// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What it costs to change a sharding, in bytes.

#ifndef SHOAL_SHARDING_RESHARDCOST_H
#define SHOAL_SHARDING_RESHARDCOST_H

#include "shoal/Sharding/Sharding.h"

namespace shoal {

/// Bytes that the busiest device sends to turn `source` into `target` for a
/// tensor of `shape`, by the ring / pairwise model: with n devices in a group
/// and L bytes a device, all_gather (n-1) L, all_to_all (n-1)/n L,
/// collective_permute L, reduce_scatter (n-1)/n L, all_reduce 2 (n-1)/n L. The
/// closed form of the cheapest plan; no plan is made. Fractions stay exact up
/// to double precision.
///
/// `target` may be partial only over axes that `source` is partial over, or
/// that `source` does not use (a replicated value becomes addends by zeroing
/// all but one device's, free of charge).
double reshardBytes(llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
                    const Sharding &source, const Sharding &target,
                    const Mesh &mesh);

} // namespace shoal

#endif // SHOAL_SHARDING_RESHARDCOST_H
