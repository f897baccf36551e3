// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How devices that split a dimension into blocks move its rows some places
// further along, around its end.

#ifndef SHOAL_SHARDING_ROLLPLAN_H
#define SHOAL_SHARDING_ROLLPLAN_H

#include <cstdint>

namespace shoal {

/// All devices of a collective_permute send as many rows. Where blocks are even
/// they change devices in two parts. Where they are not, each device sends its
/// last rows on, or its first ones back, if the last device has as many; rows
/// that go further come in two windows, those from behind the dimension's end
/// in one of their own.
struct RollPlan {
  enum class Form { Stay, Parts, LastRowsOn, FirstRowsBack, Windows };
  Form form;
  /// Rows that a device receives at most, of all collectives together. It is
  /// what the device lacks that lacks most; of windows up to twice as many, as
  /// each is counted for the device that lacks most of it.
  int64_t rows;
  bool operator==(const RollPlan &) const = default;
};

/// For `size` rows in blocks of ceil(size / shards); 0 <= shift < size. Takes
/// the same time for any number of shards.
RollPlan planRoll(int64_t shift, int64_t size, int64_t shards);

} // namespace shoal

#endif // SHOAL_SHARDING_ROLLPLAN_H
