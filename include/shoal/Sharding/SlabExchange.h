// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How devices bring together what each of them has made of its own rows: the
// totals of a scan, the partial results of a reduction, the candidates of a
// selection. Each has one slab, all of one shape; what comes of them is again
// about a slab for each device.

#ifndef SHOAL_SHARDING_SLABEXCHANGE_H
#define SHOAL_SHARDING_SLABEXCHANGE_H

#include "llvm/ADT/ArrayRef.h"
#include <optional>

namespace shoal {

/// The dimension of the slabs along which the devices share the work: an
/// all_to_all brings each device its part of all slabs, and a second exchange
/// what came of them. That sends 2 (p - 1) / p of a slab, where an all_gather
/// of all slabs, after which each device does the work alone, sends p - 1.
/// Nothing where the all_gather sends no more: for two devices, or where no
/// dimension is large enough to be cut.
std::optional<unsigned> sharedSlabDim(llvm::ArrayRef<int64_t> slab,
                                      int64_t shards);

/// Elements that a device sends, by the better way.
double slabElementsSent(llvm::ArrayRef<int64_t> slab, int64_t shards);

} // namespace shoal

#endif // SHOAL_SHARDING_SLABEXCHANGE_H
