// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Collective.h"
#include "Device.h"

#include <unordered_map>

namespace shoal::rt {

static cudaEvent_t makeEvent() {
  cudaEvent_t event = nullptr;
  check(api.cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
        "cudaEventCreateWithFlags");
  return event;
}

/// What wait waits for, by the id of the collective.
static std::unordered_map<int64_t, cudaEvent_t> &doneEvents() {
  static auto *events = new std::unordered_map<int64_t, cudaEvent_t>;
  return *events;
}

Collective::Collective(Activity activity, int64_t id, int64_t bytes,
                       const Group *group)
    : stream(Device::get().collectives()), id(id), group(group),
      work{activity, id, bytes, group} {
  name();
  // A wait is for the last record before it: one event does for all.
  static cudaEvent_t ready = makeEvent();
  check(api.cudaEventRecord(ready, Device::get().compute()), "cudaEventRecord");
  check(api.cudaStreamWaitEvent(stream, ready, 0), "cudaStreamWaitEvent");
  Timeline::get().begin(work, stream);
}

Collective::~Collective() {
  name();
  Timeline::get().end(work, stream);
  auto [entry, fresh] = doneEvents().try_emplace(id);
  if (fresh)
    entry->second = makeEvent();
  check(api.cudaEventRecord(entry->second, stream), "cudaEventRecord");
}

void Collective::startGroup() {
  name();
  check(api.ncclGroupStart(), "ncclGroupStart");
}

void Collective::send(const void *from, int64_t bytes, int64_t rank) {
  if (bytes == 0)
    return;
  check(api.ncclSend(from, bytes, ncclInt8, static_cast<int>(rank),
                     group->communicator, stream),
        "ncclSend");
}

void Collective::receive(void *to, int64_t bytes, int64_t rank) {
  if (bytes == 0)
    return;
  check(api.ncclRecv(to, bytes, ncclInt8, static_cast<int>(rank),
                     group->communicator, stream),
        "ncclRecv");
}

void Collective::endGroup() { run("ncclGroupEnd", api.ncclGroupEnd); }

void Collective::swapPieces(int64_t index, int64_t bytes, const char *from,
                            char *to) {
  copy(from + index * bytes, to + index * bytes, bytes);
  swapWithOthers(index, [&](int64_t member) {
    send(from + member * bytes, bytes, member);
    receive(to + member * bytes, bytes, member);
  });
}

WatchedCall Collective::watch() const {
  return WatchedCall([this] {
    return Timeline::get().describeLate(work.activity, id, *group);
  });
}

void Collective::copy(const void *from, void *to, int64_t bytes) {
  if (bytes != 0)
    check(
        api.cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream),
        "cudaMemcpyAsync");
}

void Collective::zero(void *to, int64_t bytes) {
  if (bytes != 0)
    check(api.cudaMemsetAsync(to, 0, bytes, stream), "cudaMemsetAsync");
}

void waitForCollective(int64_t id) {
  auto entry = doneEvents().find(id);
  if (entry == doneEvents().end())
    return;
  setActivity("the wait for collective", id);
  check(api.cudaStreamWaitEvent(Device::get().compute(), entry->second, 0),
        "cudaStreamWaitEvent");
}

} // namespace shoal::rt
