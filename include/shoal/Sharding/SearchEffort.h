// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_SHARDING_SEARCHEFFORT_H
#define SHOAL_SHARDING_SEARCHEFFORT_H

namespace shoal {

/// How far the search goes.
enum class SearchEffort {
  /// The choice of one op after the other.
  Greedy,
  /// Then changes of single ops.
  Descent,
  /// Then of many at a time, from two starts.
  Quick,
  /// The same from all starts.
  Full,
};

} // namespace shoal

#endif // SHOAL_SHARDING_SEARCHEFFORT_H
