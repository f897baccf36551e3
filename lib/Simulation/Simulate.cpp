// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Simulation/Simulate.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

using namespace shoal;
using support::Error;
using support::Result;
using support::Status;

namespace {

/// When each of what runs at once is free again.
struct Clocks {
  /// The host, which launches; the device's stream of kernels, and that of
  /// collectives.
  Picoseconds host = 0, compute = 0, link = 0;

  Picoseconds end() const { return std::max({host, compute, link}); }
};

/// Goes through a step in program order.
class Run {
public:
  explicit Run(const Cluster &cluster) : cluster(&cluster) {}

  Status run(const Step &step) {
    for (const Node &node : step)
      if (Status failed =
              std::visit([&](auto &each) { return add(each); }, node))
        return failed;
    return std::nullopt;
  }

  SimulatedStep take() {
    result.time = clocks.end();
    return std::move(result);
  }

private:
  Status add(const Task &task) {
    Result<Price> price = priceOf(task);
    if (!price)
      return price.error();
    auto *collective = std::get_if<CollectiveWork>(&task.work);
    Picoseconds start = collective ? addCollective(*collective, price->time)
                                   : addKernel(price->time);
    result.tasks.push_back({task, *price, start, runs});
    if (auto *product = std::get_if<ProductWork>(&task.work))
      result.productFlops += runs * flopsOf(product->shape);
    return std::nullopt;
  }

  Status add(const Wait &wait) {
    auto found = ends.find(wait.number);
    if (found == ends.end() || found->second <= clocks.compute)
      return std::nullopt;
    result.exposed += runs * (found->second - clocks.compute);
    clocks.compute = found->second;
    return std::nullopt;
  }

  /// A body in its own time, repeated: what it ends is what the next trip
  /// begins with.
  Status add(const std::shared_ptr<Loop> &loop) {
    if (!loop->isKnown)
      result.unknownLoops.push_back(loop->place);
    if (loop->trips == 0)
      return std::nullopt;
    Picoseconds begin = clocks.end();
    clocks = {begin, begin, begin};
    runs *= loop->trips;
    Status failed = run(loop->body);
    runs /= loop->trips;
    Picoseconds end = begin + (clocks.end() - begin) * loop->trips;
    clocks = {end, end, end};
    return failed;
  }

  /// The branch that takes longest, as nobody knows which one runs.
  Status add(const std::shared_ptr<Branch> &branch) {
    std::optional<Run> longest;
    for (const Step &step : branch->branches) {
      Run attempt = *this;
      if (Status failed = attempt.run(step))
        return failed;
      if (!longest || attempt.clocks.end() > longest->clocks.end())
        longest = attempt;
    }
    if (longest) {
      clocks = longest->clocks;
      ends = longest->ends;
      result = std::move(longest->result);
    }
    return std::nullopt;
  }

  Picoseconds addKernel(Picoseconds time) {
    launch(clocks.compute);
    Picoseconds start = std::max(clocks.compute, clocks.host);
    // Collectives beside it take some of the device.
    Picoseconds beside = std::clamp<Picoseconds>(clocks.link - start, 0, time);
    clocks.compute =
        start + time + std::llround(beside * cluster->chip.overlapTax);
    return start;
  }

  Picoseconds addCollective(const CollectiveWork &work, Picoseconds time) {
    launch(std::max(clocks.compute, clocks.link));
    Picoseconds start = std::max({clocks.compute, clocks.host, clocks.link});
    clocks.link = start + time;
    if (work.isAsync && cluster->chip.overlaps) {
      ends[work.number] = clocks.link;
    } else {
      clocks.compute = clocks.link;
      result.exposed += runs * time;
    }
    return start;
  }

  /// Of something that could begin at `ready`.
  void launch(Picoseconds ready) {
    clocks.host += std::llround(cluster->chip.launch * 1e12);
    result.waiting += runs * std::max<Picoseconds>(0, clocks.host - ready);
  }

  static double flopsOf(const ProductShape &shape) {
    return 2.0 * shape.batch * shape.m * shape.n * shape.k;
  }

  Result<Price> priceOf(const Task &task) {
    if (auto *product = std::get_if<ProductWork>(&task.work))
      return priceProduct(cluster->chip, product->type, product->shape,
                          task.bytes);
    if (auto *kernel = std::get_if<KernelWork>(&task.work))
      return priceKernel(cluster->chip, task.bytes, kernel->operations,
                         kernel->indexedRows);
    auto &collective = std::get<CollectiveWork>(task.work);
    GroupCounts counts = countMembers(*cluster, collective.axes);
    if (!collective.groups.empty()) {
      Result<GroupCounts> listed =
          countListedMembers(*cluster, collective.groups);
      if (!listed)
        return listed.error();
      counts = *listed;
    }
    return priceCollective(*cluster, collective.kind, counts, task.bytes);
  }

  /// Runs of branches are copied.
  const Cluster *cluster;
  Clocks clocks;
  int64_t runs = 1;
  std::map<int64_t, Picoseconds> ends;
  SimulatedStep result;
};

} // namespace

Result<SimulatedStep> shoal::simulate(const Step &step, int64_t devices,
                                      const Cluster &cluster) {
  if (devices > cluster.devices())
    return Error{
        llvm::formatv("the program is for {0} devices, but {1} has {2}",
                      devices, cluster.name, cluster.devices())};
  Run run(cluster);
  if (Status failed = run.run(step))
    return *failed;
  return run.take();
}
