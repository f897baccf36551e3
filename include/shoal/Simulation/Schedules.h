// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Schedules of pipelines as values: in which order each device works on which
// micro-batch, how long that takes, and of how many it holds activations.
//
// A pipeline of p devices has v stages on each, virtual ones: stage c p + d is
// the chunk c of device d. A micro-batch goes forward through all stages, and
// back. With p = 2, m = 4, v = 1 and a backward pass of one unit, too:
//
//   GPipe     F0 F1 F2 F3 .  .  B3 B2 B1 B0
//             .  F0 F1 F2 F3 B3 B2 B1 B0
//   1F1B      F0 F1 .  B0 F2 B1 F3 B2 .  B3
//             .  F0 B0 F1 B1 F2 B2 F3 B3
//
// They take as long; of 1F1B a device holds p micro-batches, not m.

#ifndef SHOAL_SIMULATION_SCHEDULES_H
#define SHOAL_SIMULATION_SCHEDULES_H

#include "shoal/Support/Result.h"
#include <cstdint>
#include <vector>

namespace shoal {

enum class Schedule {
  /// All forward, then all backward.
  GPipe,
  /// Backward as soon as a micro-batch has come to the end.
  OneFOneB,
  /// 1F1B with v > 1 stages on each device (arXiv 2104.04473, section 2.2).
  Interleaved,
};

struct PipelineShape {
  int64_t devices = 1, microbatches = 1, virtualStages = 1;
};

/// Of one micro-batch in all stages of each device, and from one device to the
/// next. In any unit.
struct StageTimes {
  std::vector<double> forward, backward;
  double send = 0;
};

/// What a device works on at a time.
struct Slot {
  bool isBackward = false;
  int64_t microbatch = 0, chunk = 0;

  bool operator==(const Slot &) const = default;
};

struct PipelineTime {
  double time = 0;
  /// In which the device that works most waits, as a share of the time.
  double bubble = 0;
  /// The most micro-batches whose activations the first device holds, each as
  /// large as all its stages': a micro-batch of one of v stages is 1 / v.
  double live = 0;
};

/// An error where a number is less than 1, and of Interleaved where p does not
/// divide m; v is 1 of the others but GPipe.
support::Status verifyPipeline(Schedule schedule, PipelineShape shape);

/// Of each device the order of its work. Of a shape that is valid.
std::vector<std::vector<Slot>> listSlots(Schedule schedule,
                                         PipelineShape shape);

/// By going through these orders: each slot begins when the device is free and
/// what it needs has come.
support::Result<PipelineTime>
timePipeline(Schedule schedule, PipelineShape shape, const StageTimes &times);

/// The share of a device's time that is waiting where all stages take as long
/// and sending takes no time: (p - 1) / (m v + p - 1).
double bubbleShare(PipelineShape shape);

} // namespace shoal

#endif // SHOAL_SIMULATION_SCHEDULES_H
