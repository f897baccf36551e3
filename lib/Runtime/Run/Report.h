// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a run tells its user: the summary, --stats, --census and --trace.

#ifndef SHOAL_LIB_RUNTIME_RUN_REPORT_H
#define SHOAL_LIB_RUNTIME_RUN_REPORT_H

#include "../Job/World.h"
#include "../Program/Recorder.h"
#include "Options.h"
#include "Target.h"

namespace shoal::rt {

/// Of the timed steps; numbers of a device are the largest over all devices.
struct Measurements {
  /// One for each step: the time of the slowest device.
  std::vector<double> stepSeconds;
  /// Per step, by Activity; seconds are means over the steps.
  std::array<Counters, numActivities> perStep;
  /// What the program needs, and the most of its process that was in memory
  /// (Linux' VmHWM): MPI and libraries, too.
  double peakBytes, residentBytes;
  /// The most of a rank.
  double threads;
};

/// Collective. `stepSeconds` is this rank's.
Measurements measure(World &world, std::vector<double> stepSeconds,
                     const Target &target);

Status writeStats(const Program &program, const Measurements &measurements,
                  const std::string &path);

/// The sides of thresholds that this process has asked for, as
/// support::takeSides writes them.
Status writeCensus(const std::string &path);

/// Collective. `origin` is the time that all ranks take for zero.
Status writeTrace(World &world, const Program &program,
                  Clock::time_point origin, const std::string &path);

/// "moe_layer: 8 devices, 1.234 ms per step, 1.20 MiB sent by a device".
std::string summaryText(const Program &program,
                        const Measurements &measurements);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_RUN_REPORT_H
