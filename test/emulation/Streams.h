// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams and events. An operation runs when it is enqueued, in the order of
// the calls, which is one of the orders that a GPU may choose. That the others
// give the same is checked by vector clocks: an operation knows of those before
// it in its stream, of what the events that its stream waited for know, and of
// all whose end the host had seen when it enqueued the operation.
//
// An operation that hangs on request (Faults.h) does run, but neither it nor
// any that knows of it is ever reported as done.

#ifndef SHOAL_TEST_EMULATION_STREAMS_H
#define SHOAL_TEST_EMULATION_STREAMS_H

#include "PinnedCopies.h"
#include "Races.h"

#include <chrono>
#include <cuda_runtime_api.h>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace shoal::emulation {

class Graph;

struct Stream {
  size_t index;  // 0 is the default stream
  bool blocking; // waits for the default stream and the other way round
  Clock clock;
  /// What the next operation touches, by shoalObserveAccess.
  std::vector<Range> declared;
  /// Of each argument of the next launch, by shoalObserveArguments.
  std::vector<size_t> argumentBytes = {};
  /// What it is captured in, if it is.
  Graph *graph = nullptr;
};

struct Event {
  bool timed;
  bool recorded = false;
  Clock clock;
  std::chrono::steady_clock::time_point time;
  /// Its last record is part of this graph; null for others.
  Graph *graph = nullptr;
};

/// Of the one device of the process.
class Streams {
public:
  static Streams &get();

  cudaStream_t create(bool blocking);
  bool destroy(cudaStream_t stream);
  cudaEvent_t createEvent(bool timed);
  bool destroyEvent(cudaEvent_t event);
  /// Null if there is no such stream or event.
  Stream *find(cudaStream_t stream);
  Event *find(cudaEvent_t event);

  /// Enqueues an operation that touches `ranges` and what was declared for it:
  /// ends the program if a range is outside of the device's memory or is
  /// touched by an operation that is not ordered with this one. The caller
  /// carries it out at once. `name` lives as long as the process.
  /// `concurrent`: parts of it run in any order, so that ranges must not
  /// overlap where they are written. Returns all that the operation touches.
  std::vector<Range> enqueue(Stream &stream, const char *name,
                             std::vector<Range> ranges,
                             bool concurrent = false);

  void record(Event &event, Stream &stream);
  void wait(Stream &stream, const Event &event);

  /// Whether the host may learn that all in `clock` has ended.
  bool isDone(const Clock &clock) const;
  /// The host knows now that it has.
  void learn(const Clock &clock);
  /// Waits, as a host does, which is forever if something hangs.
  void synchronize(const Clock &clock);

  /// All that the device does until now.
  Clock everything() const;

  /// The copy that was enqueued last on a stream, from or to pinned memory.
  void copyPinned(const Stream &stream, void *target, const void *source,
                  size_t bytes, bool toHost);

  void forget(uintptr_t begin, uintptr_t end);

private:
  Streams();

  /// `stream`'s clock with what its next operation knows besides.
  void follow(Stream &stream);

  std::unordered_map<cudaStream_t, std::unique_ptr<Stream>> streams;
  std::unordered_map<cudaEvent_t, std::unique_ptr<Event>> events;
  size_t numStreams = 0;
  Stream *legacy; // made from what is above
  Clock host;
  Races races;
  PinnedCopies pinnedCopies;
  std::optional<Operation> hung;
};

} // namespace shoal::emulation

#endif // SHOAL_TEST_EMULATION_STREAMS_H
