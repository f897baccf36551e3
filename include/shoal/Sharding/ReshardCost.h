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
/// Over axes that `source` is not partial over, but `target` is, a value
/// becomes addends free of charge: a replicated one by zeroing all but one
/// device's, a split one by zeros around each device's block.
///
/// Even splits: exactly the least bytes that the busiest device must receive.
/// Uneven ones: blocks count with their padding, and rows that change owner
/// because n / p rounds up differently are fetched from neighbours.
/// `otherDeviceOrder` says that the target's mesh lists the devices in another
/// order: then no block is assumed to be in place, unless one end is whole.
double reshardBytes(llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
                    const Sharding &source, const Sharding &target,
                    const Mesh &mesh, bool otherDeviceOrder = false);

/// Elements that the plan of planReshard sends, with fractions of sums.
double plannedElements(llvm::ArrayRef<int64_t> shape, const Sharding &source,
                       const Sharding &target, const Mesh &mesh,
                       const Mesh *targetMesh = nullptr);

/// As many bytes, up to the next one, but for what rounding has added.
int64_t wholeBytes(double elements, int64_t elementBytes);

/// Bytes that the plan of planReshard sends, as Support/CollectiveBytes.h
/// counts them: what the assignment counts is what the per-device program and
/// the runtime count. Where splits are even this is reshardBytes. Partial sums
/// that need an all_reduce round up to the next byte. `targetMesh` as there.
int64_t plannedBytes(llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
                     const Sharding &source, const Sharding &target,
                     const Mesh &mesh, const Mesh *targetMesh = nullptr);

} // namespace shoal

#endif // SHOAL_SHARDING_RESHARDCOST_H
