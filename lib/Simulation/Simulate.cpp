// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Simulation/Simulate.h"
#include "TaskPrice.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>
#include <utility>

using namespace shoal;
using support::Error;
using support::Result;
using support::Status;

namespace {

/// When each of what runs at once is free again.
struct Clocks {
  Clocks(size_t levels, Picoseconds now)
      : host(now), compute(now), links(levels, now) {}

  /// The host, which launches, and the device's stream of kernels.
  Picoseconds host, compute;
  /// The links of each level: collectives that hold the same ones run one
  /// behind the other.
  llvm::SmallVector<Picoseconds, 4> links;

  /// Of all links.
  Picoseconds link() const { return *llvm::max_element(links); }
  Picoseconds end() const { return std::max({host, compute, link()}); }
};

/// Whether this is what the devices of a pipeline hand on: along axes whose
/// role is `pp`, alone or beside others (`pp, x`).
bool isHandedOn(const CollectiveWork &work) {
  llvm::SmallVector<llvm::StringRef> roles;
  llvm::StringRef(work.roles).split(roles, ", ");
  return work.kind == CollectiveKind::Permute &&
         llvm::is_contained(roles, "pp");
}

/// 1 of a loop that is no pipeline's.
int64_t countPipelineDevices(const Loop &loop) {
  for (const Node &node : loop.body) {
    const auto *task = std::get_if<Task>(&node);
    const auto *work =
        task ? std::get_if<CollectiveWork>(&task->work) : nullptr;
    if (!work || !isHandedOn(*work))
      continue;
    int64_t devices = 1;
    for (AxisSpan axis : work->axes)
      devices *= axis.size;
    // Fewer ticks than devices bring nothing through.
    return loop.isKnown && loop.trips >= devices ? devices : 1;
  }
  return 1;
}

struct State {
  Clocks clocks;
  /// Of collectives that are not waited for yet, by their numbers.
  std::map<int64_t, Picoseconds> ends;
};

/// Goes through a step in program order.
class Run {
public:
  Run(const Cluster &cluster, const SimulationOptions &options)
      : cluster(cluster), options(options),
        state{Clocks(cluster.levels.size(), 0), {}} {}

  Status run(const Step &step) {
    for (const Node &node : step)
      if (Status failed =
              std::visit([&](auto &each) { return add(each); }, node))
        return failed;
    return std::nullopt;
  }

  SimulatedStep take() {
    result.time = state.clocks.end();
    return std::move(result);
  }

private:
  Clocks startAt(Picoseconds now) const {
    return Clocks(cluster.levels.size(), now);
  }

  Status add(const Task &task) {
    Result<Price> price = priceTask(task, cluster, options);
    if (!price)
      return price.error();
    SimulatedTask simulated{task, *price};
    simulated.runs = runs;
    if (auto *collective = std::get_if<CollectiveWork>(&task.work))
      addCollective(*collective, simulated);
    else
      addKernel(simulated);
    if (auto *product = std::get_if<ProductWork>(&task.work))
      result.productFlops +=
          runs * loadOf(task, options) * flopsOf(product->shape);
    result.tasks.push_back(std::move(simulated));
    return std::nullopt;
  }

  Status add(const Wait &wait) {
    auto found = state.ends.find(wait.number);
    if (found == state.ends.end() || found->second <= state.clocks.compute)
      return std::nullopt;
    result.exposed += runs * (found->second - state.clocks.compute);
    state.clocks.compute = found->second;
    return std::nullopt;
  }

  Status add(const HostRead &) {
    state.clocks.host = std::max(state.clocks.host, state.clocks.compute);
    return std::nullopt;
  }

  /// A body in its own time, repeated: what it ends is what the next trip
  /// begins with.
  Status add(const std::shared_ptr<Loop> &loop) {
    Picoseconds begin = state.clocks.end();
    size_t number = result.loops.size();
    result.loops.push_back({loop->place, loop->trips, loop->isKnown, begin,
                            begin, countPipelineDevices(*loop),
                            loop->isOfGradient});
    if (loop->trips == 0)
      return std::nullopt;
    state.clocks = startAt(begin);
    runs *= loop->trips;
    Status failed = run(loop->body);
    runs /= loop->trips;
    Picoseconds end = begin + (state.clocks.end() - begin) * loop->trips;
    state.clocks = startAt(end);
    result.loops[number].end = end;
    return failed;
  }

  /// The branch that takes longest, as nobody knows which one runs.
  Status add(const std::shared_ptr<Branch> &branch) {
    const State before = state;
    SimulatedStep outer = std::exchange(result, {});
    SimulatedBranch simulated{branch->place, {}};
    std::optional<std::pair<State, SimulatedStep>> longest;
    for (const Step &step : branch->branches) {
      state = before;
      result = {};
      if (Status failed = run(step))
        return failed;
      simulated.times.push_back(state.clocks.end() - before.clocks.end());
      if (!longest || state.clocks.end() > longest->first.clocks.end())
        longest.emplace(state, std::move(result));
    }
    result = std::move(outer);
    if (!longest)
      return std::nullopt;
    state = std::move(longest->first);
    append(std::move(longest->second));
    result.branches.push_back(std::move(simulated));
    return std::nullopt;
  }

  /// What was simulated behind all before.
  void append(SimulatedStep more) {
    llvm::append_range(result.tasks, more.tasks);
    llvm::append_range(result.loops, more.loops);
    llvm::append_range(result.branches, more.branches);
    result.exposed += more.exposed;
    result.waiting += more.waiting;
    result.taxed += more.taxed;
    result.productFlops += more.productFlops;
  }

  void addKernel(SimulatedTask &task) {
    task.launched = launch(state.clocks.compute);
    task.start = std::max(state.clocks.compute, state.clocks.host);
    Picoseconds tax = taxOn(task.start, task.price.time);
    result.taxed += runs * tax;
    task.end = state.clocks.compute = task.start + task.price.time + tax;
  }

  /// Collectives beside a kernel take their share of the device until they
  /// end: in that time it does 1 / (1 + tax) of its work.
  Picoseconds taxOn(Picoseconds start, Picoseconds time) const {
    double tax = cluster.chip.overlapTax;
    double beside = std::max<Picoseconds>(state.clocks.link() - start, 0);
    return std::llround(tax * std::min<double>(time, beside / (1 + tax)));
  }

  void addCollective(const CollectiveWork &work, SimulatedTask &task) {
    task.packing = packingOf(work, cluster.chip);
    if (task.packing > task.price.time) {
      task.price.bound = Bound::Memory;
      task.price.level = -1;
    }
    task.price.time += task.packing;
    bool isBeside = work.isAsync && cluster.chip.overlaps;
    int level = std::max(task.price.link, 0);
    Picoseconds &link = state.clocks.links[level];
    if (isBeside)
      task.link = level;
    task.launched = launch(std::max(state.clocks.compute, link));
    task.start = std::max({state.clocks.compute, state.clocks.host, link});
    // Of the one before, which nothing computes beside either.
    Picoseconds rest = std::min(task.start, link);
    rest = std::max<Picoseconds>(rest - state.clocks.compute, 0);
    task.end = link = task.start + task.price.time;
    if (isBeside) {
      state.ends[work.number] = link;
    } else {
      state.clocks.compute = link;
      result.exposed += runs * (rest + task.price.time);
    }
  }

  /// Of something that could begin at `ready`; returns when it begins.
  Picoseconds launch(Picoseconds ready) {
    Picoseconds begin = state.clocks.host;
    state.clocks.host += std::llround(cluster.chip.launch * 1e12);
    result.waiting +=
        runs * std::max<Picoseconds>(0, state.clocks.host - ready);
    return begin;
  }

  static double flopsOf(const ProductShape &shape) {
    return 2.0 * shape.batch * shape.m * shape.n * shape.k;
  }

  const Cluster &cluster;
  const SimulationOptions &options;
  State state;
  int64_t runs = 1;
  SimulatedStep result;
};

} // namespace

Result<SimulatedStep> shoal::simulate(const Step &step, int64_t devices,
                                      const Cluster &cluster,
                                      const SimulationOptions &options) {
  if (devices > cluster.devices())
    return Error{
        llvm::formatv("the program is for {0} devices, but {1} has {2}",
                      devices, cluster.name, cluster.devices())};
  Run run(cluster, options);
  if (Status failed = run.run(step))
    return *failed;
  return run.take();
}
