// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Simulation/Schedules.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cassert>
#include <map>
#include <optional>
#include <tuple>

using namespace shoal;
using llvm::formatv;
using support::Error;
using support::Result;
using support::Status;

//===----------------------------------------------------------------------===//
// Laws
//===----------------------------------------------------------------------===//

Status shoal::verifyPipeline(Schedule schedule, PipelineShape shape) {
  for (auto [what, number] : {std::pair("devices", shape.devices),
                              {"micro-batches", shape.microbatches},
                              {"virtual stages", shape.virtualStages}})
    if (number < 1)
      return Error{formatv("{0} of a pipeline: expected at least 1 but got {1}",
                           what, number)};
  if (schedule == Schedule::OneFOneB && shape.virtualStages != 1)
    return Error{formatv("virtual stages of 1F1B: expected 1 but got {0}; with "
                         "more it is interleaved",
                         shape.virtualStages)};
  if (shape.virtualStages > 1 && shape.microbatches % shape.devices != 0)
    return Error{formatv("micro-batches of an interleaved pipeline: expected a "
                         "multiple of {0} devices but got {1}",
                         shape.devices, shape.microbatches)};
  return std::nullopt;
}

static Status verifyTimes(PipelineShape shape, const StageTimes &times) {
  for (size_t count : {times.forward.size(), times.backward.size()})
    if (count != static_cast<size_t>(shape.devices))
      return Error{formatv("times of stages: expected one for each of {0} "
                           "devices but got {1}",
                           shape.devices, count)};
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Orders
//===----------------------------------------------------------------------===//

/// The number-th slot forward: the p micro-batches of a group pass all chunks
/// before the next group enters.
static Slot forwardSlot(PipelineShape shape, int64_t number) {
  int64_t p = shape.devices, round = p * shape.virtualStages;
  if (shape.virtualStages == 1)
    return {false, number, 0};
  return {false, number / round * p + number % p, number % round / p};
}

/// Backward in the same order, from the last chunk to the first.
static Slot backwardSlot(PipelineShape shape, int64_t number) {
  Slot slot = forwardSlot(shape, number);
  return {true, slot.microbatch, shape.virtualStages - 1 - slot.chunk};
}

/// How many slots go forward before the first goes back.
static int64_t countWarmUp(Schedule schedule, PipelineShape shape,
                           int64_t device) {
  int64_t p = shape.devices, v = shape.virtualStages;
  int64_t all = shape.microbatches * v;
  if (schedule == Schedule::GPipe || (v > 1 && shape.microbatches == p))
    return all;
  int64_t behind = p - 1 - device;
  return std::min(all, v == 1 ? behind : 2 * behind + (v - 1) * p);
}

static std::vector<Slot> listSlotsOf(Schedule schedule, PipelineShape shape,
                                     int64_t device) {
  int64_t all = shape.microbatches * shape.virtualStages;
  int64_t warmUp = countWarmUp(schedule, shape, device);
  std::vector<Slot> slots;
  slots.reserve(2 * all);
  for (int64_t number = 0; number < warmUp; ++number)
    slots.push_back(forwardSlot(shape, number));
  for (int64_t number = warmUp; number < all; ++number) {
    slots.push_back(forwardSlot(shape, number));
    slots.push_back(backwardSlot(shape, number - warmUp));
  }
  for (int64_t number = all - warmUp; number < all; ++number)
    slots.push_back(backwardSlot(shape, number));
  // A gradient's loop is the forward one reversed.
  if (schedule == Schedule::GPipe) {
    for (int64_t number = 0; number < all; ++number)
      slots[all + number] = forwardSlot(shape, all - 1 - number);
    for (Slot &slot : llvm::drop_begin(slots, all))
      slot.isBackward = true;
  }
  return slots;
}

std::vector<std::vector<Slot>> shoal::listSlots(Schedule schedule,
                                                PipelineShape shape) {
  std::vector<std::vector<Slot>> orders;
  orders.reserve(shape.devices);
  for (int64_t device = 0; device < shape.devices; ++device)
    orders.push_back(listSlotsOf(schedule, shape, device));
  return orders;
}

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

namespace {

/// Goes through the orders of all devices.
class PipelineRun {
public:
  PipelineRun(Schedule schedule, PipelineShape shape, const StageTimes &times)
      : shape(shape), times(times), orders(listSlots(schedule, shape)),
        next(shape.devices, 0), free(shape.devices, 0) {}

  void run() {
    // An order that waits for itself would end here, unfinished.
    for (bool moves = true; moves;) {
      moves = false;
      for (int64_t device = 0; device < shape.devices; ++device)
        while (advance(device))
          moves = true;
    }
  }

  bool isDone() const {
    return llvm::all_of(llvm::zip(next, orders), [](const auto &each) {
      auto &[done, order] = each;
      return done == order.size();
    });
  }

  double end() const { return *llvm::max_element(free); }

private:
  /// A slot on a device.
  using Key = std::tuple<bool, int64_t, int64_t, int64_t>;

  static Key keyOf(const Slot &slot, int64_t device) {
    return {slot.isBackward, slot.microbatch, slot.chunk, device};
  }

  /// What the slot waits for: that of the stage before it, or of the stage
  /// behind it; of the last stage its own forward pass. None of the first.
  std::optional<Key> sourceOf(const Slot &slot, int64_t device) const {
    int64_t p = shape.devices, last = p * shape.virtualStages - 1;
    int64_t stage = slot.chunk * p + device;
    if (slot.isBackward && stage == last)
      return keyOf({false, slot.microbatch, slot.chunk}, device);
    int64_t source = slot.isBackward ? stage + 1 : stage - 1;
    if (source < 0)
      return std::nullopt;
    return keyOf({slot.isBackward, slot.microbatch, source / p}, source % p);
  }

  /// Whether the device's next slot could be run.
  bool advance(int64_t device) {
    if (next[device] == orders[device].size())
      return false;
    const Slot &slot = orders[device][next[device]];
    double start = free[device];
    if (std::optional<Key> source = sourceOf(slot, device)) {
      auto found = ends.find(*source);
      if (found == ends.end())
        return false;
      bool isSent = std::get<3>(*source) != device;
      start = std::max(start, found->second + (isSent ? times.send : 0));
    }
    double work = (slot.isBackward ? times.backward : times.forward)[device];
    free[device] = start + work / static_cast<double>(shape.virtualStages);
    ends[keyOf(slot, device)] = free[device];
    ++next[device];
    return true;
  }

  PipelineShape shape;
  const StageTimes &times;
  std::vector<std::vector<Slot>> orders;
  std::vector<size_t> next;
  std::vector<double> free;
  std::map<Key, double> ends;
};

} // namespace

/// The most slots of the order that have gone forward and not back.
static int64_t mostLive(llvm::ArrayRef<Slot> slots) {
  int64_t live = 0, most = 0;
  for (const Slot &slot : slots)
    most = std::max(most, live += slot.isBackward ? -1 : 1);
  return most;
}

Result<PipelineTime> shoal::timePipeline(Schedule schedule, PipelineShape shape,
                                         const StageTimes &times) {
  if (Status failed = verifyPipeline(schedule, shape))
    return *failed;
  if (Status failed = verifyTimes(shape, times))
    return *failed;
  PipelineRun run(schedule, shape, times);
  run.run();
  assert(run.isDone() && "no order waits for itself");
  double work = 0;
  for (auto [forward, backward] : llvm::zip(times.forward, times.backward))
    work = std::max(work, shape.microbatches * (forward + backward));
  double end = run.end();
  int64_t live = mostLive(listSlotsOf(schedule, shape, 0));
  return PipelineTime{end, end > 0 ? 1 - work / end : 0,
                      live / static_cast<double>(shape.virtualStages)};
}

double shoal::bubbleShare(PipelineShape shape) {
  int64_t waits = shape.devices - 1;
  return waits /
         static_cast<double>(shape.microbatches * shape.virtualStages + waits);
}
