// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How long one collective or one kernel takes on a cluster, each alone: the one
// place that prices them, of values without IR. docs/internals/Simulation.md
// has the formulas with what they are from.
//
// Prices rise with bytes, latency and 1 / bandwidth, and with members of one
// level but a torus, where a rectangle has more links than a row; an all_reduce
// is never dearer than a reduce_scatter and an all_gather. Where a machine file
// has measured curves, they hold instead.

#ifndef SHOAL_MACHINE_STEPTIME_H
#define SHOAL_MACHINE_STEPTIME_H

#include "shoal/Machine/DeviceGroups.h"
#include "llvm/ADT/StringRef.h"

namespace shoal {

/// Integers, so that equal prices are equal and sums do not depend on their
/// order.
using Picoseconds = int64_t;

inline double inSeconds(Picoseconds time) { return time * 1e-12; }

/// What a time is mostly spent on.
enum class Bound { Flops, Memory, Launch, Latency, Link };

struct Price {
  Picoseconds time = 0;
  Bound bound = Bound::Launch;
  /// Of Bound::Latency and Link: the level.
  int level = -1;
};

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// Of a group with these counts. `bytes`: what the busiest device sends or
/// receives, as Support/CollectiveBytes.h counts it. An all_to_all is pairwise.
Price priceCollective(const Cluster &cluster, CollectiveKind kind,
                      llvm::ArrayRef<int64_t> counts, int64_t bytes);

/// The all_to_all of two steps (Tutel, arXiv 2206.03382, section 3.4): within
/// the units of the level `inner`, and then among equal places of them, with a
/// strided copy before each.
Price priceAllToAll2D(const Cluster &cluster, llvm::ArrayRef<int64_t> counts,
                      int inner, int64_t bytes);

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Operands and results of a product: batch times m x k by k x n.
struct ProductShape {
  int64_t batch = 1, m = 1, n = 1, k = 1;
  /// The batch is groups of m rows, as many as are counted at run time.
  bool hasGroups = false;
};

/// `type` as chip.flops names it; what it does not name runs as f32, or as the
/// slowest that there is.
Price priceProduct(const Chip &chip, llvm::StringRef type, ProductShape shape,
                   int64_t bytes);

/// All else: bytes of memory, operations, rows that are read or added by index.
Price priceKernel(const Chip &chip, int64_t bytes, double operations = 0,
                  int64_t indexedRows = 0);

} // namespace shoal

#endif // SHOAL_MACHINE_STEPTIME_H
