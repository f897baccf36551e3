// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ListScheduler.h"

using namespace mlir;
using namespace shoal;

namespace {

/// What is live at each place of the first order, if what is left follows in
/// it.
class LiveBytes {
public:
  explicit LiveBytes(const BlockSchedule &schedule)
      : schedule(schedule), live(schedule.listLiveBytes()) {
    for (const BlockSchedule::OwnBuffer &buffer : schedule.getBuffers()) {
      usersLeft.push_back(buffer.users);
      isThere.push_back(buffer.first < 0);
    }
  }

  int64_t at(unsigned place) const { return live[place]; }

  /// Bytes that begin to be live with the node.
  int64_t beginWith(unsigned number) const {
    int64_t bytes = 0;
    for (unsigned buffer : schedule.getNodes()[number].buffers)
      if (!isThere[buffer])
        bytes += schedule.getBuffers()[buffer].bytes;
    return bytes;
  }

  /// The node is run now, as those before `lowest` were.
  void take(unsigned number, unsigned lowest) {
    for (unsigned id : schedule.getNodes()[number].buffers) {
      const BlockSchedule::OwnBuffer &buffer = schedule.getBuffers()[id];
      if (!isThere[id])
        add(lowest, buffer.first, buffer.bytes);
      isThere[id] = true;
      if (--usersLeft[id] == 0)
        add(lowest, buffer.last + 1, -buffer.bytes);
    }
  }

private:
  void add(int64_t first, int64_t end, int64_t bytes) {
    for (int64_t place = first; place < end; ++place)
      live[place] += bytes;
  }

  const BlockSchedule &schedule;
  std::vector<int64_t> live;
  std::vector<unsigned> usersLeft;
  std::vector<bool> isThere;
};

/// How many long collectives ahead.
constexpr unsigned kSoon = 2;

class ListScheduler {
public:
  ListScheduler(const BlockSchedule &schedule, const OrderLimits &limits)
      : nodes(schedule.getNodes()), limits(limits), live(schedule),
        ends(nodes.size(), 0), isDone(nodes.size(), false) {
    for (const BlockSchedule::Node &node : nodes)
      missing.push_back(node.before.size());
  }

  SmallVector<unsigned> run() {
    while (order.size() < nodes.size()) {
      Candidates found = findCandidates();
      // Beside it comes what is chosen next, unless it has to wait for another
      // one, as kernels would then, too.
      bool isNext =
          found.collective &&
          (!found.kernel || waitOf(*found.collective) <= waitOf(*found.kernel));
      if (isNext)
        start(*found.collective);
      else
        work(*found.kernel);
    }
    return order;
  }

private:
  struct Candidates {
    std::optional<unsigned> collective, kernel;
  };

  /// Of those that may come next: the one that stands first of all is always
  /// among them, as what it needs stood before.
  Candidates findCandidates() const {
    Candidates found;
    int64_t most = 0;
    for (unsigned number = lowest;
         number < nodes.size() && number - lowest <= limits.window; ++number) {
      if (!isDone[number] && missing[number] == 0 &&
          (number == lowest || mayComeEarly(number, most)))
        offer(number, found);
      most = std::max(most, live.at(number));
    }
    return found;
  }

  /// most: bytes that are live before its turn. What nobody uses soon would
  /// only be held, as a sum's first zeros: the results of what runs beside an
  /// exchange are used behind the one that takes rows back.
  bool mayComeEarly(unsigned number, int64_t most) const {
    return nodes[number].due <= frontier + kSoon &&
           most + live.beginWith(number) <= limits.bytes;
  }

  void offer(unsigned number, Candidates &found) const {
    std::optional<unsigned> &best =
        nodes[number].isCollective ? found.collective : found.kernel;
    if (!best || keyOf(number) < keyOf(*best))
      best = number;
  }

  /// The op that waits least; of equals what a collective needs; of these the
  /// one behind fewer collectives, so that chains of ops that are independent
  /// of each other go on in turns; then the first.
  std::tuple<double, bool, unsigned, unsigned> keyOf(unsigned number) const {
    const BlockSchedule::Node &node = nodes[number];
    if (node.isCollective)
      return {waitOf(number), false, node.level, number};
    return {waitOf(number), !node.isNeeded, node.isNeeded ? node.level : 0,
            number};
  }

  /// Until the collectives have ended that it needs; one that is in the same
  /// stream begins behind them anyway.
  double waitOf(unsigned number) const {
    const BlockSchedule::Node &node = nodes[number];
    double wait = 0;
    for (unsigned before : node.before)
      if (!node.isCollective || nodes[before].stream != node.stream)
        wait = std::max(wait, ends[before] - workClock);
    return wait;
  }

  void start(unsigned number) {
    const OpDuration &duration = nodes[number].duration;
    workClock += waitOf(number);
    double &clock = linkClocks[duration.link];
    clock = std::max(clock, workClock) + duration.seconds;
    ends[number] = clock;
    take(number);
  }

  void work(unsigned number) {
    workClock += waitOf(number) + nodes[number].duration.seconds;
    frontier = std::max(frontier, nodes[number].level);
    take(number);
  }

  void take(unsigned number) {
    order.push_back(number);
    isDone[number] = true;
    for (unsigned next : nodes[number].behind)
      --missing[next];
    live.take(number, lowest);
    while (lowest < nodes.size() && isDone[lowest])
      ++lowest;
  }

  ArrayRef<BlockSchedule::Node> nodes;
  OrderLimits limits;
  LiveBytes live;
  SmallVector<unsigned> order, missing;
  /// When collectives end; of other ops nobody asks.
  SmallVector<double> ends;
  SmallVector<bool> isDone;
  double workClock = 0;
  llvm::SmallDenseMap<int, double, 4> linkClocks;
  unsigned lowest = 0;
  /// The highest level of what was run.
  unsigned frontier = 0;
};

} // namespace

SmallVector<unsigned> shoal::orderOps(const BlockSchedule &schedule,
                                      const OrderLimits &limits) {
  return ListScheduler(schedule, limits).run();
}
