// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Windows over rows that stand apart, with places between them that are none.

#ifndef SHOAL_SHARDING_DILATEDROWS_H
#define SHOAL_SHARDING_DILATEDROWS_H

#include "shoal/Sharding/RowMap.h"
#include <algorithm>

namespace shoal {

/// The map of a window's places, which begins with the row at or before the
/// first place, as one that begins with the row at or behind it, where a window
/// always has one: what is before its first place the window does not read.
/// Windows shorter than the distance of two rows may have none; they begin with
/// the row at or before their last place.
///
/// Over rows 2 apart, places -1 ... 1 of row 0 are (-1 + 1) / 2 ... 1 / 2: row
/// 0 alone, and not row -1.
inline RowMap fromFirstRow(RowMap map) {
  map.low = std::min(map.low + map.divisor - 1, map.high);
  return map;
}

/// Of the result of padding with `low` rows in front and `interior` between
/// each two: a row of it that is padding reads none.
inline RowMap rowsOfPadding(int64_t low, int64_t interior) {
  return {1, interior - low, -low, interior + 1};
}

} // namespace shoal

#endif // SHOAL_SHARDING_DILATEDROWS_H
