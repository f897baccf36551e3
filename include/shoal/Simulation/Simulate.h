// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The time of a step on a cluster that is not there.
// docs/internals/Simulation.md says what is in it and what is not.

#ifndef SHOAL_SIMULATION_SIMULATE_H
#define SHOAL_SIMULATION_SIMULATE_H

#include "shoal/Machine/Cluster.h"
#include "shoal/Simulation/Step.h"
#include "shoal/Support/Result.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

namespace shoal {

struct SimulatedTask {
  Task task;
  /// With the copies before and behind it.
  Price price;
  /// Of these copies.
  Picoseconds packing = 0;
  /// Of the first run, from the step's beginning: when the host begins to
  /// launch it, and when it runs.
  Picoseconds launched = 0, start = 0, end = 0;
  /// Of a collective that runs beside what computes the level whose links it
  /// holds; -1 in the stream of kernels.
  int link = -1;
  /// How often loops run it.
  int64_t runs = 1;
};

/// The first time that a loop runs, with all its trips.
struct SimulatedLoop {
  std::string place;
  int64_t trips = 1;
  bool isKnown = true;
  Picoseconds start = 0, end = 0;
  /// Of a pipeline's loop its devices: each trip is a tick, behind which they
  /// hand on what they made. Else 1.
  int64_t pipelineDevices = 1;
  bool isOfGradient = false;
};

/// How long each branch would take, the first time.
struct SimulatedBranch {
  std::string place;
  llvm::SmallVector<Picoseconds, 2> times;
};

struct SimulatedStep {
  std::vector<SimulatedTask> tasks;
  std::vector<SimulatedLoop> loops;
  std::vector<SimulatedBranch> branches;
  Picoseconds time = 0;
  /// In which a collective runs and nothing computes.
  Picoseconds exposed = 0;
  /// In which the device has nothing to do until the host launches more.
  Picoseconds waiting = 0;
  /// By which kernels are longer as collectives run beside them.
  Picoseconds taxed = 0;
  /// Of its arithmetic in products.
  double productFlops = 0;
};

struct SimulationOptions {
  /// What the most loaded device has of ragged work, of products and exchanges
  /// whose rows depend on data, over the mean. At least 1.
  double imbalance = 1;
};

/// Errors where the program has more devices than the cluster, or groups that
/// are not alike on it.
support::Result<SimulatedStep> simulate(const Step &step, int64_t devices,
                                        const Cluster &cluster,
                                        const SimulationOptions &options = {});

/// A place of a step at which the life of a buffer begins or ends.
struct HeldAt {
  /// `layers.0/moe`, of the op there.
  std::string layer;
  /// Of buffers that are live before it and behind it.
  int64_t bytes = 0;
};

/// What else a forecast tells: bytes that a device holds.
struct Forecast {
  SimulatedStep step;
  const Cluster &cluster;
  int64_t devices = 1;
  int64_t peakBytes = 0;
  /// Of products, by which MFU counts; 0 where it is not known.
  double globalProductFlops = 0;
  SimulationOptions options = {};
  /// With ragged work shared evenly.
  Picoseconds balancedTime = 0;
  /// The program's collectives run one behind the other, whatever the cluster
  /// can do.
  bool hasOneStream = false;
  /// Of the arena and the results' memory, in program order.
  std::vector<HeldAt> held = {};
};

/// A page of text of at most 100 columns: totals, what bounds them, exposed
/// communication, and the dearest lines.
void printForecast(const Forecast &forecast, llvm::raw_ostream &os);

/// {"machine": ..., "step_seconds": ..., "exposed_seconds": ..., ...}.
llvm::json::Object toJson(const Forecast &forecast);

/// The timeline of a device's step in the format of an executable's `--trace`,
/// a lane for each stream, the collectives of a level being one; loops once,
/// with how often they run.
void writeTrace(const Forecast &forecast, llvm::raw_ostream &os);

/// What all runs of an op take, and what the longest of its tasks is bound by.
struct OpTime {
  double seconds = 0;
  std::string bound;
};

/// By numbers of ops that locations note, and by numbers of collectives.
std::map<int64_t, OpTime> timesOfOps(const Forecast &forecast);
std::map<int64_t, OpTime> timesOfCollectives(const Forecast &forecast);

/// "operations", "memory", "launch", "latency of nvlink", "link of rails".
std::string boundOf(const Price &price, const Cluster &cluster);

/// In the unit that leaves one to four digits: "12.50 us".
std::string timeText(double seconds);

} // namespace shoal

#endif // SHOAL_SIMULATION_SIMULATE_H
