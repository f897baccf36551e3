// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Timeline.h"
#include "../Program/Fatal.h"
#include "Communicators.h"
#include "Device.h"
#include "Watchdog.h"

#include <thread>

namespace shoal::rt {

Timeline &Timeline::get() {
  static auto *timeline = new Timeline;
  return *timeline;
}

void Timeline::setUp(const std::vector<CollectiveInfo> &infos,
                     std::chrono::seconds timeout) {
  descriptions.clear();
  for (const CollectiveInfo &info : infos)
    descriptions.push_back(std::to_string(descriptions.size()) + " (" +
                           info.kind + " over " + info.axes + ", " + info.loc +
                           ": " + info.reason + ")");
  limit = timeout;
  Watchdog::get().start(timeout);
}

cudaEvent_t Timeline::takeEvent() {
  cudaEvent_t event = nullptr;
  if (freeEvents.empty()) {
    check(api.cudaEventCreateWithFlags(&event, cudaEventDefault),
          "cudaEventCreateWithFlags");
    return event;
  }
  event = freeEvents.back();
  freeEvents.pop_back();
  return event;
}

void Timeline::beginStep() {
  if (!stepBegin)
    stepBegin = takeEvent();
  hostBegin = Clock::now();
  check(api.cudaEventRecord(stepBegin, Device::get().compute()),
        "cudaEventRecord");
}

void Timeline::begin(Work &work, cudaStream_t stream) {
  // A loop of many trips shall not keep the events of all of them.
  constexpr size_t many = 1024;
  if (pending.size() >= many && !capturing)
    drain();
  work.begin = takeEvent();
  recordEvent(work.begin, stream);
}

void Timeline::end(Work work, cudaStream_t stream) {
  work.end = takeEvent();
  work.captured = capturing;
  recordEvent(work.end, stream);
  if (capturing)
    graph.push_back(work);
  else
    pending.push_back(work);
}

void Timeline::recordEvent(cudaEvent_t event, cudaStream_t stream) {
  // Otherwise the event would only be a place in the graph.
  if (capturing)
    check(api.cudaEventRecordWithFlags(event, stream, cudaEventRecordExternal),
          "cudaEventRecordWithFlags");
  else
    check(api.cudaEventRecord(event, stream), "cudaEventRecord");
}

void Timeline::beginCapture() { capturing = true; }
void Timeline::endCapture() { capturing = false; }

void Timeline::launchCaptured() {
  pending.insert(pending.end(), graph.begin(), graph.end());
}

static bool isReached(cudaEvent_t event) {
  cudaError_t status = api.cudaEventQuery(event);
  if (status == cudaErrorNotReady)
    return false;
  check(status, "cudaEventQuery");
  return true;
}

bool Timeline::hasEnded(const Work &work, cudaEvent_t event) const {
  if (!isReached(event))
    return false;
  if (!work.captured)
    return true;
  // Before the launch comes to it, the event is that of the launch before, or
  // of none.
  float millis = -1;
  cudaError_t status = api.cudaEventElapsedTime(&millis, stepBegin, event);
  return status == cudaSuccess && millis >= 0;
}

void Timeline::drain() {
  // Collectives and other work end in their own orders: what ends late keeps
  // what is behind it, which is no more than a delay.
  while (!pending.empty() && hasEnded(pending.front(), pending.front().end)) {
    const Work &work = pending.front();
    record(work);
    if (!work.captured)
      freeEvents.insert(freeEvents.end(), {work.begin, work.end});
    pending.pop_front();
  }
}

void Timeline::record(const Work &work) {
  Event event{work.activity, work.id, work.bytes, hostBegin, hostBegin};
  auto timeOf = [&](cudaEvent_t moment) {
    float millis = 0;
    check(api.cudaEventElapsedTime(&millis, stepBegin, moment),
          "cudaEventElapsedTime");
    return hostBegin + std::chrono::duration_cast<Clock::duration>(
                           std::chrono::duration<float, std::milli>(millis));
  };
  if (stepBegin) {
    event.begin = timeOf(work.begin);
    event.end = timeOf(work.end);
  }
  Recorder::get().add(event);
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

const char *Timeline::describe(int64_t id) const {
  return id >= 0 && static_cast<size_t>(id) < descriptions.size()
             ? descriptions[id].c_str()
             : nullptr;
}

std::string Timeline::describeLate(Activity activity, int64_t id,
                                   const Group &group) const {
  const char *known = describe(id);
  std::string text = known ? known
                           : std::to_string(id) + " (" +
                                 std::string(activityName(activity)) + ")";
  return "collective " + text + " has not ended after " +
         std::to_string(limit.count()) + " s on rank " +
         std::to_string(Device::get().rank()) + "; it joins the ranks " +
         group.describe();
}

void Timeline::reportTimeout(const Work &work) {
  fatal(describeLate(work.activity, work.id, *work.group),
        Communicators::abort);
}

void Timeline::watch(const Work &work) {
  // One that waits for this device's own work is not late.
  if (watched != work.begin || !hasEnded(work, work.begin)) {
    watched = work.begin;
    watchedSince = Clock::now();
  } else if (Clock::now() - watchedSince >= limit) {
    reportTimeout(work);
  }
}

void Timeline::watch() {
  drain();
  Communicators::get().checkErrors();
  // What comes before it in another stream may wait for what waits for it.
  for (const Work &work : pending)
    if (work.group && hasEnded(work, work.begin) && !hasEnded(work, work.end))
      return watch(work);
  if (asking)
    return watch(*asking);
  watched = nullptr;
}

void Timeline::waitFor(cudaStream_t stream, const Work *collective) {
  if (waited.empty())
    waited = describeActivity();
  asking = collective;
  finish(stream);
  asking = nullptr;
}

void Timeline::finish(cudaStream_t stream) {
  constexpr auto interval = std::chrono::milliseconds(20);
  Clock::time_point next = Clock::now() + interval;
  while (true) {
    cudaError_t status = api.cudaStreamQuery(stream);
    if (status == cudaSuccess)
      return;
    if (status != cudaErrorNotReady)
      check(status, "a step");
    if (Clock::now() >= next) {
      watch();
      next = Clock::now() + interval;
    }
    std::this_thread::yield();
  }
}

void waitForDevice() {
  Timeline::get().finish(Device::get().compute());
  for (cudaStream_t stream : Device::get().collectives())
    Timeline::get().finish(stream);
}

} // namespace shoal::rt
