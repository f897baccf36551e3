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
#include "shoal/Machine/ProductShape.h"
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
  /// Of a collective the outermost level that its group spans, whose links it
  /// holds: -1 where it has one device. What it sends over the levels within is
  /// little beside what they carry.
  int link = -1;
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

/// How a row that goes to several experts lies on a cluster.
struct RowCopies {
  /// Experts that it goes to, and units that have one of them, on average.
  double experts = 1, units = 1;
};

/// Of `units` that share `experts` evenly, how many have one of the `chosen`
/// different ones, each as likely as another. Where routing is limited to
/// `reach` of the units, these are chosen first.
double expectedUnits(int64_t experts, int64_t units, int64_t chosen,
                     int64_t reach);

/// A dispatch of two stages: a row goes once to each unit of the level `inner`
/// that has one of its experts, and is copied to these within the unit. `bytes`
/// as of the pairwise all_to_all that sends a copy to each expert, which cannot
/// tell copies from rows.
Price priceTwoStageDispatch(const Cluster &cluster,
                            llvm::ArrayRef<int64_t> counts, int inner,
                            int64_t bytes, RowCopies copies);

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// `type` as chip.flops names it; what it does not name runs as f32, or as the
/// slowest that there is. `share`: of the operations those that are done, where
/// there is room for more rows than there are.
Price priceProduct(const Chip &chip, llvm::StringRef type, ProductShape shape,
                   int64_t bytes, double share = 1);

/// Operations a second of products of this type at most.
double peakOf(const Chip &chip, llvm::StringRef type);

/// A kernel of attention, products and softmax in one: its multiplications with
/// an addition, at the share of the peak that chip.attention says, or its
/// bytes.
Price priceAttention(const Chip &chip, llvm::StringRef type, double terms,
                     int64_t bytes);

/// All else: bytes of memory, operations, rows that are read or added by index.
Price priceKernel(const Chip &chip, int64_t bytes, double operations = 0,
                  int64_t indexedRows = 0);

} // namespace shoal

#endif // SHOAL_MACHINE_STEPTIME_H
