// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which rows of a dimension a device needs that does not hold just these: the
// arithmetic of halos. One form serves slices, padding, concatenation, reversal
// and windows: all read rows that are linear functions of the result's row.

#ifndef SHOAL_SHARDING_ROWMAP_H
#define SHOAL_SHARDING_ROWMAP_H

#include "shoal/Sharding/Mesh.h"

namespace shoal {

/// Row r of a factor reads the rows floor((scale * r + low) / divisor) ...
/// floor((scale * r + high) / divisor), both included, of a dimension. Rows
/// outside the dimension do not exist. divisor >= 1, low < high + divisor; with
/// low > high some rows of the factor read none.
///
/// A slice has scale = stride, low = high = start; a reversal of n rows scale =
/// -1, low = high = n - 1; a window of w rows with stride s and dilation d
/// scale = s, low = -(low padding), high = low + (w - 1) d, divisor = base
/// dilation. The result of padding has high = -(low padding), divisor =
/// interior padding + 1, low = high + divisor - 1: what stands between two rows
/// reads neither.
struct RowMap {
  int64_t scale = 1;
  int64_t low = 0, high = 0;
  int64_t divisor = 1;
  /// Rows outside are those counted around the dimension's ends: rows of a roll
  /// by k are read with low = high = -k. Of maps with scale and divisor 1.
  bool wraps = false;
  bool operator==(const RowMap &) const = default;
};

/// The rows that each of several devices wants: the device with index i those
/// from floor((step * i + offset) / divisor), `rows` of them.
struct RowWindow {
  int64_t step = 0, offset = 0, divisor = 1;
  int64_t rows = 0;

  int64_t begin(int64_t device) const;
  /// Those rows of a device that a dimension of `size` rows has.
  RowRange rangeIn(int64_t size, int64_t device) const;
  bool operator==(const RowWindow &) const = default;
};

/// The smallest window in which the device with index i finds what the rows
/// i * block ... (i + 1) * block - 1 of the factor read.
RowWindow windowOf(const RowMap &map, int64_t block);

/// How many rows the device that lacks most must fetch, of a dimension of
/// `size` rows in blocks of ceil(size / shards). Takes the same time for any
/// number of shards.
int64_t lackingRows(const RowWindow &window, int64_t size, int64_t shards);

/// Whether some device's window has rows outside the dimension.
bool seesOutside(const RowWindow &window, int64_t size, int64_t shards);

} // namespace shoal

#endif // SHOAL_SHARDING_ROWMAP_H
