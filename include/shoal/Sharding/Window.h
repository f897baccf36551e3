// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The arithmetic of one dimension that a window slides over.

#ifndef SHOAL_SHARDING_WINDOW_H
#define SHOAL_SHARDING_WINDOW_H

#include "shoal/Sharding/RowMap.h"
#include <optional>

namespace shoal {

/// A window of `size` places, `windowDilation` apart, that moves by `stride`
/// over rows that stand `baseDilation` apart, with `low` and `high` places of
/// padding around them, negative ones cutting off. Sizes, strides and dilations
/// are at least 1, all numbers at most 2^31.
struct WindowDim {
  int64_t size = 1, stride = 1;
  int64_t low = 0, high = 0;
  int64_t baseDilation = 1, windowDilation = 1;
  /// Whether place k stands for the kernel's row size - 1 - k.
  bool reversed = false;

  bool operator==(const WindowDim &) const = default;

  /// Whether each window is the one row of its number.
  bool isPointwise() const;

  /// How many windows there are over `rows` rows; nothing where these reach
  /// over 2^56 places, dilated and padded, or a window does.
  std::optional<int64_t> countWindows(int64_t rows) const;

  /// The row that place k of window r stands at, which may be outside of the
  /// dimension; nothing between rows.
  std::optional<int64_t> rowAt(int64_t window, int64_t place) const;

  /// The rows that a window reads, as a map from the window's number.
  RowMap rowsOfWindow() const;

  /// The rows that row k of the kernel is multiplied with in any of `windows`
  /// windows, as a map from k; `windows` is at least 1.
  RowMap rowsOfKernelRow(int64_t windows) const;

  /// The windows that row r stands in, as a map from r; there may be others in
  /// its range. Without dilations.
  RowMap windowsOfRow() const;

  /// The rows that those windows hold, as a map from r. Without dilations.
  RowMap neighboursOfRow() const;
};

} // namespace shoal

#endif // SHOAL_SHARDING_WINDOW_H
