// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Machine/StepTime.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <numeric>

using namespace shoal;

namespace {

/// Seconds by what they are of, of one way to do a collective. Levels work at
/// the same time; latencies add up.
struct Parts {
  double latency = 0;
  int latencyLevel = -1;
  double link = 0;
  int linkLevel = -1;

  void addLatency(double seconds, int level) {
    latency += seconds;
    if (latencyLevel < 0 || seconds > 0)
      latencyLevel = level;
  }
  void addLink(double seconds, int level) {
    if (seconds > link)
      std::tie(link, linkLevel) = std::pair(seconds, level);
  }
  double seconds() const { return latency + link; }
};

/// A group over the levels of a cluster.
struct Group {
  const Cluster &cluster;
  llvm::ArrayRef<int64_t> counts;

  int64_t size() const {
    return std::accumulate(counts.begin(), counts.end(), int64_t(1),
                           std::multiplies<>());
  }
  /// Members of one unit of the level below.
  int64_t below(int level) const {
    return Group{cluster, counts.take_front(level)}.size();
  }
};

} // namespace

static Price priceOf(const Parts &parts) {
  bool isLink = parts.link > parts.latency;
  return {std::llround(parts.seconds() * 1e12),
          isLink ? Bound::Link : Bound::Latency,
          isLink ? parts.linkLevel : parts.latencyLevel};
}

/// Bytes a second of a device, or of a torus's link, in messages of this size.
static double rateOf(const Level &level, CollectiveKind kind, double message) {
  auto found = level.efficiency.find(kind);
  double share = found == level.efficiency.end() ? 1 : found->second;
  if (!level.messageShare.empty())
    share *= valueAt(level.messageShare, message);
  return level.bandwidth * share;
}

//===----------------------------------------------------------------------===//
// A torus
//===----------------------------------------------------------------------===//

namespace {

/// As square as it can be: slices of a pod are.
struct Rectangle {
  int64_t narrow, wide;

  explicit Rectangle(int64_t chips) : narrow(1), wide(chips) {
    for (int64_t side = 1; side * side <= chips; ++side)
      if (chips % side == 0)
        std::tie(narrow, wide) = std::pair(side, chips / side);
  }
  int64_t ways(const Level &level) const { return level.wraps ? 2 : 1; }
  /// That a chip sends on at once: a ring, or one in each direction.
  int64_t links(const Level &level) const {
    return ways(level) * (narrow > 1 ? 2 : 1);
  }
  double meanHops(const Level &level) const {
    return (narrow + wide) / (2.0 * ways(level));
  }
};

} // namespace

/// Half of all that is sent crosses the middle, in both directions.
static double torusExchange(const Level &level, int64_t chips, double perChip,
                            double link) {
  Rectangle shape(chips);
  double cut = static_cast<double>(shape.narrow) * shape.ways(level);
  return chips * perChip / 4 / (cut * link);
}

//===----------------------------------------------------------------------===//
// Kinds
//===----------------------------------------------------------------------===//

/// Of a whole of `bytes`. Rings of all levels run at once: of a level's unit
/// each member fetches its share of what is elsewhere. What an all_reduce gains
/// in a switch is the switch's alone.
static Parts gatherParts(Group group, CollectiveKind kind, double bytes) {
  Parts parts;
  double message = bytes / group.size();
  for (auto [place, count] : llvm::enumerate(group.counts)) {
    if (count == 1)
      continue;
    const Level &level = group.cluster.levels[place];
    double rate = rateOf(level, kind, message);
    if (kind == CollectiveKind::AllReduce)
      rate *= level.allReduceGain;
    double moved = bytes * (count - 1) / count;
    if (level.kind == LevelKind::Torus) {
      Rectangle shape(count);
      parts.addLink(moved / (shape.links(level) * rate), place);
      parts.addLatency((shape.narrow + shape.wide) * level.alpha, place);
    } else {
      parts.addLink(moved / group.below(place) / rate, place);
      parts.addLatency((count - 1) * level.alpha, place);
    }
  }
  return parts;
}

/// One behind the other.
static Parts operator+(Parts first, const Parts &second) {
  if (second.latency > first.latency)
    first.latencyLevel = second.latencyLevel;
  if (second.link > first.link)
    first.linkLevel = second.linkLevel;
  first.latency += second.latency;
  first.link += second.link;
  return first;
}

static Parts ringReduceParts(Group group, double bytes) {
  Parts half = gatherParts(group, CollectiveKind::AllReduce, bytes);
  return half + half;
}

/// Up and down a tree: few steps, but the whole in each.
static Parts treeReduceParts(Group group, double bytes) {
  Parts parts;
  for (auto [place, count] : llvm::enumerate(group.counts)) {
    if (count == 1)
      continue;
    const Level &level = group.cluster.levels[place];
    double rate = rateOf(level, CollectiveKind::AllReduce, bytes);
    parts.addLink(2 * bytes / rate, place);
    parts.addLatency(2 * llvm::Log2_64_Ceil(count) * level.alpha, place);
  }
  return parts;
}

static bool hasTorus(Group group) {
  return llvm::any_of(llvm::zip(group.counts, group.cluster.levels),
                      [](const auto &each) {
                        auto &[count, level] = each;
                        return count > 1 && level.kind == LevelKind::Torus;
                      });
}

/// The fastest way; two collectives in its place are one, too.
static Parts reduceParts(Group group, double bytes) {
  llvm::SmallVector<Parts> ways = {
      ringReduceParts(group, bytes),
      gatherParts(group, CollectiveKind::ReduceScatter, bytes) +
          gatherParts(group, CollectiveKind::AllGather, bytes)};
  if (!hasTorus(group))
    ways.push_back(treeReduceParts(group, bytes));
  return *llvm::min_element(ways, [](const Parts &a, const Parts &b) {
    return a.seconds() < b.seconds();
  });
}

/// A piece to each member; a level carries what leaves the units below it and
/// stays within its own.
static Parts exchangeParts(Group group, double bytes) {
  Parts parts;
  int64_t size = group.size();
  double message = bytes / size;
  for (auto [place, count] : llvm::enumerate(group.counts)) {
    if (count == 1)
      continue;
    const Level &level = group.cluster.levels[place];
    double rate = rateOf(level, CollectiveKind::AllToAll, message);
    int64_t below = group.below(place), peers = below * count - below;
    if (level.kind == LevelKind::Torus) {
      parts.addLink(torusExchange(level, count, bytes * below, rate), place);
      parts.addLatency(Rectangle(count).meanHops(level) * level.alpha +
                           peers * level.message,
                       place);
    } else {
      parts.addLink(bytes * peers / size / rate, place);
      parts.addLatency(level.alpha + peers * level.message, place);
    }
  }
  return parts;
}

/// To one device, over the outermost level that the group spans.
static Parts permuteParts(Group group, double bytes) {
  Parts parts;
  for (auto [place, count] : llvm::enumerate(group.counts)) {
    if (count == 1)
      continue;
    const Level &level = group.cluster.levels[place];
    Parts here;
    here.addLink(bytes / rateOf(level, CollectiveKind::Permute, bytes), place);
    here.addLatency(level.alpha, place);
    if (here.seconds() > parts.seconds())
      parts = here;
  }
  return parts;
}

//===----------------------------------------------------------------------===//
// Prices
//===----------------------------------------------------------------------===//

/// Seconds of a measured curve: before its first point as at it, behind its
/// last as fast as there.
static double measuredSeconds(const Curve &curve, double bytes) {
  auto [last, seconds] = curve.back();
  return bytes > last ? seconds * bytes / last : valueAt(curve, bytes);
}

/// The level that a group lies on alone, and what was measured there.
static const MeasuredCurve *findMeasured(Group group, CollectiveKind kind,
                                         int &place) {
  auto spans = [](int64_t count) { return count > 1; };
  if (llvm::count_if(group.counts, spans) != 1)
    return nullptr;
  place = llvm::find_if(group.counts, spans) - group.counts.begin();
  for (const MeasuredCurve &curve : group.cluster.levels[place].measured)
    if (curve.kind == kind && curve.members == group.counts[place] &&
        !curve.seconds.empty())
      return &curve;
  return nullptr;
}

/// -1 of a group of one.
static int outermostLevel(llvm::ArrayRef<int64_t> counts) {
  int outermost = -1;
  for (auto [place, count] : llvm::enumerate(counts))
    if (count > 1)
      outermost = static_cast<int>(place);
  return outermost;
}

static Price priceOfKind(const Cluster &cluster, CollectiveKind kind,
                         llvm::ArrayRef<int64_t> counts, int64_t bytes) {
  Group group{cluster, counts};
  double size = group.size();
  if (size <= 1)
    return {};
  int place = 0;
  if (const MeasuredCurve *curve = findMeasured(group, kind, place))
    return {std::llround(measuredSeconds(curve->seconds, bytes) * 1e12),
            Bound::Link, place};
  double whole = bytes * size / (size - 1);
  switch (kind) {
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
    return priceOf(gatherParts(group, kind, whole));
  case CollectiveKind::AllReduce:
    return priceOf(reduceParts(group, whole / 2));
  case CollectiveKind::AllToAll:
    return priceOf(exchangeParts(group, whole));
  case CollectiveKind::Permute:
    return priceOf(permuteParts(group, bytes));
  }
  llvm_unreachable("no such kind");
}

Price shoal::priceCollective(const Cluster &cluster, CollectiveKind kind,
                             llvm::ArrayRef<int64_t> counts, int64_t bytes) {
  Price price = priceOfKind(cluster, kind, counts, bytes);
  price.link = outermostLevel(counts);
  return price;
}

/// The group's members within a unit of the level `inner`, or among units.
static GroupCounts countsWithin(llvm::ArrayRef<int64_t> counts, int inner) {
  GroupCounts within(counts.size(), 1);
  llvm::copy(counts.take_front(inner + 1), within.begin());
  return within;
}

static GroupCounts countsAmong(llvm::ArrayRef<int64_t> counts, int inner) {
  GroupCounts among(counts);
  std::fill_n(among.begin(), inner + 1, 1);
  return among;
}

/// Two exchanges one behind the other, of these wholes of bytes, each with a
/// strided copy, which reads and writes.
static Price priceTwoExchanges(const Cluster &cluster,
                               llvm::ArrayRef<int64_t> counts, int inner,
                               double within, double among) {
  GroupCounts near = countsWithin(counts, inner);
  GroupCounts far = countsAmong(counts, inner);
  Price first = priceOf(exchangeParts({cluster, near}, within));
  Price second = priceOf(exchangeParts({cluster, far}, among));
  auto copy = [&](double bytes) {
    return priceKernel(cluster.chip, std::llround(2 * bytes)).time;
  };
  Price &longer = second.time > first.time ? second : first;
  return {first.time + second.time + copy(within) + copy(among), longer.bound,
          longer.level};
}

static double wholeOf(Group group, int64_t bytes) {
  double size = group.size();
  return size > 1 ? bytes * size / (size - 1) : 0;
}

Price shoal::priceAllToAll2D(const Cluster &cluster,
                             llvm::ArrayRef<int64_t> counts, int inner,
                             int64_t bytes) {
  double whole = wholeOf({cluster, counts}, bytes);
  return priceTwoExchanges(cluster, counts, inner, whole, whole);
}

double shoal::expectedUnits(int64_t experts, int64_t units, int64_t chosen,
                            int64_t reach) {
  reach = std::clamp<int64_t>(reach, 1, units);
  int64_t inUnit = experts / units, inReach = inUnit * reach;
  // That none of the chosen is one unit's: of those left it is not among any.
  double without = 1;
  for (int64_t each = 0; each < std::min(chosen, inReach); ++each)
    without *= std::max<double>(inReach - inUnit - each, 0) / (inReach - each);
  return reach * (1 - without);
}

Price shoal::priceTwoStageDispatch(const Cluster &cluster,
                                   llvm::ArrayRef<int64_t> counts, int inner,
                                   int64_t bytes, RowCopies copies) {
  double whole = wholeOf({cluster, counts}, bytes);
  return priceTwoExchanges(cluster, counts, inner, whole,
                           whole * copies.units / copies.experts);
}
