// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The chips of a cluster and the links between them, as machine files describe
// them (docs/guide/Machines.md has every key): what the time of a step is
// computed from where there is no cluster. Machine.h beside it has the rates by
// which passes choose kernels.
//
// Times are seconds, sizes bytes, rates bytes or operations a second.

#ifndef SHOAL_MACHINE_CLUSTER_H
#define SHOAL_MACHINE_CLUSTER_H

#include "shoal/Machine/CollectiveKind.h"
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace shoal {

/// (x, y) with x rising: between two points log y is linear in log x. Before
/// the first, and behind the last, the user of the curve says what holds.
using Curve = std::vector<std::pair<double, double>>;

/// How much of the peak products of size m x n x k reach: `max`, times
/// size / (size + half) of each size, times size / (size rounded up to a tile).
struct ProductCurve {
  double max = 0.8;
  /// Of m, n, k.
  std::array<double, 3> half = {0, 0, 0};
  std::array<double, 3> tile = {1, 1, 1};
};

struct Chip {
  /// Bytes that programs can have.
  double memory = 0;
  /// Of it what the library and the driver hold.
  double reserved = 0;
  double memoryBandwidth = 0;
  /// Share of it that streaming kernels reach.
  double memoryEfficiency = 1;
  /// Share that kernels of as many bytes reach: over 1 in caches.
  Curve memoryShare;
  /// Operations a second of products, by element type: {"bf16", 989.5e12}.
  std::map<std::string, double> flops;
  ProductCurve products;
  /// Share of a product's rate where its rows are of groups that are counted at
  /// run time.
  double groupEfficiency = 1;
  /// Share of the peak that attention kernels reach.
  double attentionEfficiency = 0.5;
  /// Operations a second of everything else: exponentials, sums, copies.
  double elementwiseFlops = 0;
  /// Each row that is read or added by index, beside its bytes.
  double indexedRow = 0;
  /// On the device, of each kernel or call, beside its work.
  double kernel = 0;
  /// On the host, of each: hidden as long as the device is behind.
  double launch = 0;
  /// Compute is slower by this share while a collective runs beside it.
  double overlapTax = 0;
  /// Collectives run beside compute, on a stream of their own.
  bool overlaps = false;
};

enum class LevelKind {
  /// All pairs at the full rate at once: a switch.
  Switch,
  /// A link for each device out of its unit, such as a NIC: groups of several
  /// members of a unit drive several.
  Rails,
  /// Links to neighbours in a rectangle of chips.
  Torus,
  /// One memory that all share.
  Bus,
};

/// What was measured of a kind, in groups of `members`: bytes that the busiest
/// device sends, and seconds.
struct MeasuredCurve {
  CollectiveKind kind;
  int64_t members = 2;
  Curve seconds;
};

/// Units of the level below, joined.
struct Level {
  std::string name;
  /// How many units of the level below; of the first level, devices.
  int64_t size = 1;
  LevelKind kind = LevelKind::Switch;
  /// Of a device, one way; of a torus, of a link.
  double bandwidth = 0;
  /// Share of it, by kind of collective.
  std::map<CollectiveKind, double> efficiency;
  /// Of a torus: its ends are joined.
  bool wraps = false;
  /// An all_reduce is this many times as fast as a reduce_scatter and an
  /// all_gather: where switches add.
  double allReduceGain = 1;
  /// Of a step of a ring, and of a message.
  double alpha = 0;
  /// Of each message of an all_to_all, beside the first.
  double message = 0;
  /// Share of the bandwidth that messages of as many bytes reach.
  Curve messageShare;
  std::vector<MeasuredCurve> measured;
};

/// Innermost level first.
struct Cluster {
  std::string name;
  /// What its numbers are from.
  std::string source;
  Chip chip;
  std::vector<Level> levels;

  /// The product of all levels' sizes.
  int64_t devices() const;
};

/// The y of a curve at x, which lies between its first and last point or is
/// moved there.
double valueAt(const Curve &curve, double x);

} // namespace shoal

#endif // SHOAL_MACHINE_CLUSTER_H
