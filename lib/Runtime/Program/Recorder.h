// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a device did in a step: counts, bytes and seconds of each kind of
// runtime call, and the events of a trace. Free of MPI.

#ifndef SHOAL_LIB_RUNTIME_PROGRAM_RECORDER_H
#define SHOAL_LIB_RUNTIME_PROGRAM_RECORDER_H

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

namespace shoal::rt {

enum class Activity {
  AllGather,
  AllReduce,
  ReduceScatter,
  AllToAll,
  RaggedAllToAll,
  CollectivePermute,
  HaloExchange,
  Exchange,
  Einsum,
  Step,
};

inline constexpr size_t numActivities = 10;
/// The collectives are the first.
inline constexpr size_t numCollectives = 8;

/// "all_gather", "einsum"...
std::string_view activityName(Activity activity);

using Clock = std::chrono::steady_clock;

struct Counters {
  int64_t calls = 0;
  /// Sent, by the ring / pairwise model.
  int64_t bytes = 0;
  double seconds = 0;
};

struct Event {
  Activity activity;
  /// Of the collective in the metadata; -1 for other work.
  int64_t id;
  int64_t bytes;
  Clock::time_point begin;
  Clock::time_point end;
};

/// One for the process. Calls of the runtime come from one thread.
class Recorder {
public:
  static Recorder &get();

  /// Forgets the counters and, from now on, keeps events if `trace`.
  void reset(bool trace);
  void add(const Event &event);

  const Counters &counters(Activity activity) const {
    return totals[static_cast<size_t>(activity)];
  }
  const std::vector<Event> &events() const { return trace; }

private:
  std::array<Counters, numActivities> totals = {};
  bool tracing = false;
  std::vector<Event> trace;
};

/// Records the time from its construction to its end.
class Timed {
public:
  explicit Timed(Activity activity, int64_t id = -1, int64_t bytes = 0)
      : event{activity, id, bytes, Clock::now(), {}} {}
  ~Timed() {
    event.end = Clock::now();
    Recorder::get().add(event);
  }
  /// What is known only while it lasts.
  void setBytes(int64_t bytes) { event.bytes = bytes; }
  Timed(const Timed &) = delete;
  Timed &operator=(const Timed &) = delete;

private:
  Event event;
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_PROGRAM_RECORDER_H
