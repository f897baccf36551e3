// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work that is enqueued on the device: when it began and ended, and waiting for
// it with an eye on the errors of NCCL and on collectives that do not end.

#ifndef SHOAL_LIB_RUNTIME_CUDA_TIMELINE_H
#define SHOAL_LIB_RUNTIME_CUDA_TIMELINE_H

#include "../Program/Program.h"
#include "../Program/Recorder.h"
#include "Api.h"

#include <deque>

namespace shoal::rt {

struct Group;

class Timeline {
public:
  struct Work {
    Activity activity;
    /// Of the collective in the metadata; -1 for other work.
    int64_t id;
    int64_t bytes;
    /// Who takes part in a collective; null for other work.
    const Group *group;
    cudaEvent_t begin = nullptr, end = nullptr;
    /// Part of a graph, whose launches record the events again.
    bool captured = false;
  };

  static Timeline &get();

  /// For the messages; a collective that takes longer ends the job.
  void setUp(const std::vector<CollectiveInfo> &infos,
             std::chrono::seconds timeout);

  /// The moment that times of the device count from. The device is idle.
  void beginStep();

  /// "0 (all_reduce over {"x"}, layer.mlir:7:3: why)", as long as the process;
  /// null where the program says nothing of it.
  const char *describe(int64_t id) const;

  /// What to say of a collective that takes longer than the time-out.
  std::string describeLate(Activity activity, int64_t id,
                           const Group &group) const;

  /// Records the beginning or the end of work on the stream.
  void begin(Work &work, cudaStream_t stream);
  void end(Work work, cudaStream_t stream);

  /// Gives the work that has ended to the Recorder.
  void drain();

  /// Waits until the stream has nothing left to do. Ends the job if NCCL has an
  /// error or a collective that has begun takes longer than the time-out.
  void finish(cudaStream_t stream);

  /// The same for calls of the program that need a value; `collective`, if any,
  /// is the one that needs it and has not ended.
  void waitFor(cudaStream_t stream, const Work *collective = nullptr);

  /// What the program was doing when it waited for a value; empty if it never
  /// did.
  const std::string &waitInStep() const { return waited; }

  /// Between these two, events become part of a graph.
  void beginCapture();
  void endCapture();
  /// The graph's work has been enqueued once more.
  void launchCaptured();

private:
  cudaEvent_t takeEvent();
  void recordEvent(cudaEvent_t event, cudaStream_t stream);
  bool hasEnded(const Work &work, cudaEvent_t event) const;
  void record(const Work &work);
  /// Ends the job if the first collective that has begun has taken too long.
  void watch();
  /// The same of this one, which has not ended.
  void watch(const Work &work);
  [[noreturn]] void reportTimeout(const Work &work);

  std::vector<std::string> descriptions;
  std::chrono::seconds limit = std::chrono::seconds(300);
  std::deque<Work> pending;
  std::vector<Work> graph;
  bool capturing = false;
  std::string waited;
  std::vector<cudaEvent_t> freeEvents;
  cudaEvent_t stepBegin = nullptr;
  Clock::time_point hostBegin = Clock::now();
  /// The collective that waits for a value, if any.
  const Work *asking = nullptr;
  /// The collective that is waited for, by its beginning, and since when it
  /// runs.
  cudaEvent_t watched = nullptr;
  Clock::time_point watchedSince;
};

/// Waits for all streams.
void waitForDevice();

/// Times the work that is enqueued on the stream during its life.
class DeviceTimed {
public:
  DeviceTimed(cudaStream_t stream, Activity activity, int64_t id = -1,
              int64_t bytes = 0, const Group *group = nullptr)
      : work{activity, id, bytes, group}, stream(stream) {
    Timeline::get().begin(work, stream);
  }
  ~DeviceTimed() { Timeline::get().end(work, stream); }
  DeviceTimed(const DeviceTimed &) = delete;
  DeviceTimed &operator=(const DeviceTimed &) = delete;

private:
  Timeline::Work work;
  cudaStream_t stream;
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_TIMELINE_H
