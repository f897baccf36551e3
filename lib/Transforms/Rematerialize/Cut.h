// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a segment's backward pass saves, and what it computes again.

#ifndef SHOAL_LIB_TRANSFORMS_REMATERIALIZE_CUT_H
#define SHOAL_LIB_TRANSFORMS_REMATERIALIZE_CUT_H

#include "Segments.h"

namespace shoal::remat {

/// A choice for one segment.
struct Cut {
  /// The ops to run again, in program order.
  std::vector<unsigned> repeated;
  double cost = 0;
  /// Of what the backward pass reads of this segment and of others for it.
  int64_t savedBytes = 0;

  bool operator==(const Cut &) const = default;
};

/// Minimises price * (bytes saved) + (operations run again) over all choices
/// with which the backward pass finds what it reads of the segment's values.
/// Exact: with a_v (v is there in the backward pass), r_o (op o runs again),
///
///   sum price bytes_v a_v + sum (cost_o - price sum bytes_v of o) r_o,
///
/// where r_o requires a_v of its results and operands, and a_v holds of all
/// that backward ops read, is a closure problem. Where prices tie, less runs
/// again. Views are made again wherever they are read, at no cost; what other
/// segments made can be saved only.
Cut cutSegment(const Graph &graph, const Segments &segments, unsigned segment,
               double price);

/// The cuts of all prices, from that which saves all on: each saves fewer bytes
/// than the one before it, for more operations, and more operations per byte.
std::vector<Cut> findFrontier(const Graph &graph, const Segments &segments,
                              unsigned segment);

} // namespace shoal::remat

#endif // SHOAL_LIB_TRANSFORMS_REMATERIALIZE_CUT_H
