// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What an exchange moves: a tensor goes from one division into blocks to
// another, each device receiving what it lacks.

#ifndef SHOAL_SHARDING_EXCHANGECOST_H
#define SHOAL_SHARDING_EXCHANGECOST_H

#include "shoal/Sharding/DeviceAssignment.h"
#include "shoal/Sharding/RowMap.h"
#include "shoal/Sharding/Sharding.h"

namespace shoal {

/// Who has which block: the digits of the position that split each dimension,
/// major to minor, and the order of the devices, empty for the identity.
struct BlockLayout {
  llvm::SmallVector<llvm::SmallVector<PositionDigit, 2>, 4> dims;
  llvm::ArrayRef<int64_t> deviceIds;
};

/// The layout of a value that is not partial; refers to the mesh.
BlockLayout layoutOf(const Sharding &sharding, const Mesh &mesh);

/// Elements that devices send and receive: each the most of any device.
struct ExchangeTraffic {
  int64_t sent = 0;
  /// What is sent, but no more than each box of a block once: what a device has
  /// to pack, as parts of one box that it sends to several share their place.
  int64_t packed = 0;
  int64_t received = 0;

  bool operator==(const ExchangeTraffic &) const = default;
};

/// The traffic when each device of `source`, a division of a tensor of `shape`
/// into blocks, gets a window along each dimension: that at its index over the
/// dimension's digits of `target`. Each device receives the elements of its
/// windows that are not in its block; those who have a block share what is
/// asked of it evenly. Padding does not travel. Dimensions whose shards follow
/// from other digits of the position are counted apart. Devices are counted up
/// to 16,384 that differ in what they have and want along dimensions of the
/// same digits; for more, the numbers are bounds: those of devices that have
/// nothing of their windows yet.
ExchangeTraffic exchangeTraffic(llvm::ArrayRef<int64_t> shape,
                                int64_t numDevices, const BlockLayout &source,
                                const BlockLayout &target,
                                llvm::ArrayRef<RowWindow> windows);

/// What the busiest device sends or receives, whichever is more, when a tensor
/// of `shape` changes its layout.
int64_t exchangedElements(llvm::ArrayRef<int64_t> shape, int64_t numDevices,
                          const BlockLayout &source, const BlockLayout &target);

} // namespace shoal

#endif // SHOAL_SHARDING_EXCHANGECOST_H
