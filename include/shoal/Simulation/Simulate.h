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

namespace shoal {

struct SimulatedTask {
  Task task;
  Price price;
  /// Of the first run, from the step's beginning.
  Picoseconds start = 0;
  /// How often loops run it.
  int64_t runs = 1;
};

struct SimulatedStep {
  std::vector<SimulatedTask> tasks;
  Picoseconds time = 0;
  /// In which a collective runs and nothing computes.
  Picoseconds exposed = 0;
  /// In which the device has nothing to do until the host launches more.
  Picoseconds waiting = 0;
  /// Of its arithmetic in products.
  double productFlops = 0;
  /// Where a loop's number of trips is not known: counted once.
  std::vector<std::string> unknownLoops;
};

/// Errors where the program has more devices than the cluster, or groups that
/// are not alike on it.
support::Result<SimulatedStep> simulate(const Step &step, int64_t devices,
                                        const Cluster &cluster);

/// What else a forecast tells: bytes that a device holds.
struct Forecast {
  SimulatedStep step;
  const Cluster &cluster;
  int64_t devices = 1;
  int64_t peakBytes = 0;
  /// Of products, by which MFU counts; 0 where it is not known.
  double globalProductFlops = 0;
};

/// A page of text of at most 100 columns: totals, what bounds them, exposed
/// communication, and the dearest lines.
void printForecast(const Forecast &forecast, llvm::raw_ostream &os);

/// {"machine": ..., "step_seconds": ..., "exposed_seconds": ..., ...}.
llvm::json::Object toJson(const Forecast &forecast);

} // namespace shoal

#endif // SHOAL_SIMULATION_SIMULATE_H
