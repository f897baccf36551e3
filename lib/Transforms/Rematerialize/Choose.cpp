// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Choose.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace shoal::remat;

/// Forward ops between two ends of segments, at least.
static constexpr unsigned kGaps[] = {16, 64, 256};

/// A step from one cut of a frontier to the next is gone in so many parts: ops
/// of like cost for like bytes all change at one price.
static constexpr unsigned kParts = 4;

/// Numbers of steps that are looked at where all of them are too few or hold
/// more than some do.
static constexpr size_t kSamples = 16;

/// Steps that may be taken back.
static constexpr size_t kTakenBack = 64;

namespace {

/// A part of a step of a segment down its frontier.
struct Descent {
  unsigned segment;
  /// The place behind it: kParts for each cut.
  unsigned place;
  double operationsPerByte;
};

/// The frontiers of a graph's segments, and a place on each.
class Frontiers {
public:
  Frontiers(const Graph &graph, const Segments &segments) : graph(graph) {
    for (unsigned segment = 0; segment < segments.count; ++segment)
      frontiers.push_back(findFrontier(graph, segments, segment));
    places.resize(segments.count);
    listDescents();
  }

  Choice choose(std::optional<int64_t> limit);

private:
  void listDescents();
  void addRepeated(unsigned segment, std::vector<bool> &repeated) const;
  Choice current(std::optional<int64_t> limit) const;
  Choice descend(size_t count, std::optional<int64_t> limit);
  void takeBack(Choice &choice, size_t count, int64_t limit);

  const Graph &graph;
  std::vector<std::vector<Cut>> frontiers;
  std::vector<unsigned> places;
  /// Those that give most for their cost first. Of one segment they come in
  /// order, as its frontier is convex.
  std::vector<Descent> descents;
};

} // namespace

void Frontiers::listDescents() {
  for (auto [segment, frontier] : llvm::enumerate(frontiers))
    for (unsigned to = 1; to < frontier.size(); ++to) {
      const Cut &before = frontier[to - 1], &behind = frontier[to];
      double slope = (behind.cost - before.cost) /
                     double(before.savedBytes - behind.savedBytes);
      for (unsigned part = 1; part <= kParts; ++part)
        descents.push_back(
            {unsigned(segment), (to - 1) * kParts + part, slope});
    }
  llvm::sort(descents, [](const Descent &a, const Descent &b) {
    return std::tuple(a.operationsPerByte, a.segment, a.place) <
           std::tuple(b.operationsPerByte, b.segment, b.place);
  });
}

/// The ops of the cut, and in program order a part of those that the next one
/// has more.
void Frontiers::addRepeated(unsigned segment,
                            std::vector<bool> &repeated) const {
  unsigned cut = places[segment] / kParts, part = places[segment] % kParts;
  for (unsigned op : frontiers[segment][cut].repeated)
    repeated[op] = true;
  if (part == 0)
    return;
  std::vector<unsigned> more;
  for (unsigned op : frontiers[segment][cut + 1].repeated)
    if (!repeated[op])
      more.push_back(op);
  for (size_t i = 0; i < more.size() * part / kParts; ++i)
    repeated[more[i]] = true;
}

Choice Frontiers::current(std::optional<int64_t> limit) const {
  Choice choice;
  for (const GraphOp &op : graph.ops)
    choice.repeated.push_back(op.isSentAgain && !op.isBackward);
  for (unsigned segment = 0; segment < places.size(); ++segment)
    addRepeated(segment, choice.repeated);
  choice.schedule = makeSchedule(graph, choice.repeated);
  choice.fits = !limit || choice.schedule.peakBytes <= *limit;
  return choice;
}

/// What the first `count` descents lead to.
Choice Frontiers::descend(size_t count, std::optional<int64_t> limit) {
  llvm::fill(places, 0);
  for (size_t i = 0; i < count; ++i)
    places[descents[i].segment] = descents[i].place;
  return current(limit);
}

/// A segment goes back by its last step alone: who cannot, stays.
void Frontiers::takeBack(Choice &choice, size_t count, int64_t limit) {
  size_t last = count > kTakenBack ? count - kTakenBack : 0;
  for (size_t i = count; i-- > last;) {
    unsigned &place = places[descents[i].segment];
    if (place != descents[i].place)
      continue;
    --place;
    Choice without = current(limit);
    if (without.fits)
      choice = std::move(without);
    else
      ++place;
  }
}

Choice Frontiers::choose(std::optional<int64_t> limit) {
  Choice least = descend(0, limit);
  if (least.fits)
    return least;
  // More steps mostly hold less: the first of some samples that fits, ...
  size_t low = 0, high = 0;
  Choice choice;
  choice.fits = false;
  for (size_t sample = 1; sample <= kSamples && !choice.fits; ++sample) {
    low = high;
    high = descents.size() * sample / kSamples;
    choice = descend(high, limit);
    if (choice.schedule.peakBytes < least.schedule.peakBytes)
      least = choice;
  }
  if (!choice.fits)
    return least;
  // ... and between it and the one before it the first step that does.
  while (low + 1 < high) {
    size_t middle = (low + high) / 2;
    (descend(middle, limit).fits ? high : low) = middle;
  }
  choice = descend(high, limit);
  takeBack(choice, high, *limit);
  return choice;
}

/// Whether `a` is the one to take: the cheapest that keeps a limit, else that
/// which holds least.
static bool isBetter(const Choice &a, const Choice &b, bool hasLimit) {
  if (a.fits != b.fits)
    return a.fits;
  return hasLimit && a.fits ? a.schedule.repeatedCost < b.schedule.repeatedCost
                            : a.schedule.peakBytes < b.schedule.peakBytes;
}

Choice shoal::remat::chooseRepeated(const Graph &graph,
                                    std::optional<int64_t> limit) {
  std::optional<Choice> best;
  for (unsigned gap : kGaps) {
    Choice choice = Frontiers(graph, findSegments(graph, gap)).choose(limit);
    if (!best || isBetter(choice, *best, limit.has_value()))
      best = std::move(choice);
    if (best->fits && best->schedule.repeatedCost == 0)
      break;
  }
  return std::move(*best);
}
