// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Stopwatch.h"
#include "CPU/ThreadCount.h"

#include <algorithm>
#include <chrono>
#include <cmath>

using namespace shoal;
using namespace shoal::bench;

/// Short ones are over before others on the machine have their turn; where
/// ranks share cores their own turns are what is measured.
static constexpr double kBatch = 2e-4, kSharedBatch = 2e-2;
static constexpr int64_t kLeastBatches = 3, kMostBatches = 30;

static int numCores() {
  rt::CpuMask mask = rt::CpuMask::ofProcess();
  int cores = 0;
  for (int cpu = 0; cpu < rt::CpuMask::size; ++cpu)
    cores += mask.has(cpu);
  return cores;
}

Stopwatch::Stopwatch(rt::World &world, double seconds)
    : world(world), seconds(seconds),
      haveCores(world.ranksOnNode() <= numCores()) {}

Experiment &Stopwatch::add(std::function<void()> run) {
  return experiments.emplace_back(Experiment{std::move(run)});
}

void Stopwatch::pass() {
  for (Experiment &experiment : experiments) {
    if (experiment.runs == 0)
      choose(experiment);
    experiment.seconds = std::min(experiment.seconds, secondsOf(experiment));
  }
}

template <typename Work>
static double secondsOfOne(rt::World &world, Work &&work) {
  using Clock = std::chrono::steady_clock;
  world.barrier();
  Clock::time_point begin = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// The least of so many batches; one is over when its last rank is.
static double leastOf(rt::World &world, int64_t batches,
                      const std::function<void()> &batch) {
  std::vector<double> seconds;
  seconds.reserve(batches);
  for (int64_t i = 0; i < batches; ++i)
    seconds.push_back(secondsOfOne(world, batch));
  world.maximum(seconds);
  return *std::ranges::min_element(seconds);
}

/// The first run pages memory in and makes plans.
void Stopwatch::choose(Experiment &experiment) {
  experiment.run();
  double once = leastOf(world, kLeastBatches, experiment.run);
  if (once < seconds / kMostBatches)
    once = std::min(once, leastOf(world, kMostBatches, experiment.run));
  once = std::max(once, 1e-8);
  double batch = haveCores ? kBatch : kSharedBatch;
  experiment.runs = std::clamp<int64_t>(std::llround(batch / once), 1, 100000);
  experiment.batches = std::clamp<int64_t>(
      std::llround(seconds / (once * static_cast<double>(experiment.runs))),
      kLeastBatches, kMostBatches);
}

double Stopwatch::secondsOf(Experiment &experiment) {
  double batch = leastOf(world, experiment.batches, [&] {
    for (int64_t run = 0; run < experiment.runs; ++run)
      experiment.run();
  });
  return batch / static_cast<double>(experiment.runs);
}
