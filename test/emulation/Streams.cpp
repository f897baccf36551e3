// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Streams.h"
#include "Error.h"
#include "Faults.h"
#include "Memory.h"

#include <cstring>
#include <unistd.h>

namespace shoal::emulation {

Streams &Streams::get() {
  static Streams streams;
  return streams;
}

Streams::Streams() : legacy(find(create(/*blocking=*/true))) {}

cudaStream_t Streams::create(bool blocking) {
  auto stream = std::make_unique<Stream>(
      Stream{numStreams++, blocking, /*clock=*/{}, /*declared=*/{}});
  cudaStream_t handle = reinterpret_cast<cudaStream_t>(stream.get());
  streams[handle] = std::move(stream);
  return handle;
}

bool Streams::destroy(cudaStream_t stream) {
  return find(stream) != legacy && streams.erase(stream) != 0;
}

cudaEvent_t Streams::createEvent(bool timed) {
  auto event = std::make_unique<Event>(Event{timed, false, {}, {}});
  cudaEvent_t handle = reinterpret_cast<cudaEvent_t>(event.get());
  events[handle] = std::move(event);
  return handle;
}

bool Streams::destroyEvent(cudaEvent_t event) {
  return events.erase(event) != 0;
}

Stream *Streams::find(cudaStream_t stream) {
  if (stream == nullptr || stream == cudaStreamLegacy)
    return legacy;
  auto found = streams.find(stream);
  return found == streams.end() ? nullptr : found->second.get();
}

Event *Streams::find(cudaEvent_t event) {
  auto found = events.find(event);
  return found == events.end() ? nullptr : found->second.get();
}

void Streams::follow(Stream &stream) {
  stream.clock.join(host);
  if (&stream == legacy) {
    for (auto &[handle, other] : streams)
      if (other->blocking)
        stream.clock.join(other->clock);
  } else if (stream.blocking) {
    stream.clock.join(legacy->clock);
  }
}

std::vector<Range> Streams::enqueue(Stream &stream, const char *name,
                                    std::vector<Range> ranges,
                                    bool concurrent) {
  ranges.insert(ranges.end(), stream.declared.begin(), stream.declared.end());
  stream.declared.clear();
  follow(stream);
  stream.clock.advance(stream.index);
  Operation operation{name, stream.index, stream.clock[stream.index]};
  for (const Range &range : ranges) {
    Memory::get().checkInside(name, range.begin, range.end, range.writes);
    races.touch(range, operation, stream.clock);
    pinnedCopies.touch(range);
  }
  if (concurrent)
    races.checkDisjoint(ranges, operation);
  if (!hung && injectedHang(name))
    hung = operation;
  return ranges;
}

void Streams::record(Event &event, Stream &stream) {
  follow(stream);
  event.graph = nullptr;
  event.clock = stream.clock;
  event.recorded = true;
  event.time = std::chrono::steady_clock::now();
}

void Streams::wait(Stream &stream, const Event &event) {
  stream.clock.join(event.clock);
}

bool Streams::isDone(const Clock &clock) const {
  return !hung || !hung->before(clock);
}

void Streams::learn(const Clock &clock) {
  host.join(clock);
  pinnedCopies.complete(host);
  races.prune(host);
}

void Streams::synchronize(const Clock &clock) {
  while (!isDone(clock))
    pause();
  learn(clock);
}

void Streams::copyPinned(const Stream &stream, void *target, const void *source,
                         size_t bytes, bool toHost) {
  Operation copy{"cudaMemcpyAsync", stream.index, stream.clock[stream.index]};
  if (toHost) {
    pinnedCopies.toHost(copy, target, source, bytes);
    return;
  }
  std::memcpy(target, source, bytes);
  pinnedCopies.fromHost(copy, source, bytes);
}

void Streams::forget(uintptr_t begin, uintptr_t end) {
  races.forget(begin, end);
  pinnedCopies.forget(begin, end);
}

Clock Streams::everything() const {
  Clock all = host;
  for (const auto &[handle, stream] : streams)
    all.join(stream->clock);
  return all;
}

} // namespace shoal::emulation

using namespace shoal::emulation;

extern "C" void shoalObserveAccess(void *stream, const void *pointer,
                                   size_t bytes, int access) {
  Stream *found = Streams::get().find(static_cast<cudaStream_t>(stream));
  if (!found)
    fail("shoalObserveAccess: no such stream");
  if (access < 1 || access > 3)
    fail(text("shoalObserveAccess: expected access 1 to 3 but got ", access));
  uintptr_t begin = reinterpret_cast<uintptr_t>(pointer);
  // Written bytes conflict with whatever read ones conflict with.
  found->declared.push_back({begin, begin + bytes, (access & 2) != 0});
}
