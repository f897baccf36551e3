// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Collective.h"
#include "../Program/Fatal.h"
#include "Combine.h"
#include "Reductions.h"
#include "shoal/Calls/Sizes.h"

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

static const Group *groupOf(const CollectiveStart &start) {
  if (!start.communicates)
    return nullptr;
  Communicators &all = Communicators::get();
  return start.axes ? &all.group(start.mesh, *start.axes) : &all.world();
}

Collective::Collective(const CollectiveStart &start)
    : DeviceCopies{Device::get().collectives(start.id)}, id(start.id),
      group(groupOf(start)),
      index(start.axes ? topology().indexOver(start.mesh, *start.axes) : 0),
      work{start.activity, id, start.bytes, group} {
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

void Collective::startMessages() const {
  name();
  check(api.ncclGroupStart(), "ncclGroupStart");
}

void Collective::send(const char *from, int64_t bytes, int64_t rank) const {
  if (bytes == 0)
    return;
  check(api.ncclSend(from, bytes, ncclInt8, static_cast<int>(rank),
                     group->communicator, stream),
        "ncclSend");
}

void Collective::receive(char *to, int64_t bytes, int64_t rank) const {
  if (bytes == 0)
    return;
  check(api.ncclRecv(to, bytes, ncclInt8, static_cast<int>(rank),
                     group->communicator, stream),
        "ncclRecv");
}

void Collective::endMessages() const { run("ncclGroupEnd", api.ncclGroupEnd); }

void Collective::swapPieces(int64_t bytes, int64_t stride, const char *from,
                            char *to) const {
  copy(from + index * stride, to + index * bytes, bytes);
  swapWithOthers([&](int64_t member) {
    send(from + member * stride, bytes, member);
    receive(to + member * bytes, bytes, member);
  });
}

void Collective::copyToHost(const void *from, void *to, int64_t bytes) const {
  if (bytes != 0)
    check(api.cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream),
          "cudaMemcpyAsync");
}

void Collective::waitForHost() const {
  name();
  Timeline::get().waitFor(stream, group ? &work : nullptr);
}

void Collective::swapOnHost(int64_t bytes, int64_t members, const char *from,
                            char *to, HostStage stage) const {
  check(api.cudaMemcpyAsync(stage.sent, from, members * bytes,
                            cudaMemcpyHostToDevice, stream),
        "cudaMemcpyAsync");
  swapPieces(bytes, stage.sent, stage.received);
  copyToHost(stage.received, to, members * bytes);
  waitForHost();
}

void Collective::fail(const std::string &text) const {
  const char *known = Timeline::get().describe(id);
  fatal("collective " + (known ? std::string(known) : std::to_string(id)) +
            ", rank " + std::to_string(topology().rank()) + ": " + text,
        Communicators::abort);
}

void Collective::gatherPieces(int64_t bytes, const char *from, char *to) const {
  run("ncclAllGather", [&] {
    return api.ncclAllGather(from, to, bytes, ncclInt8, group->communicator,
                             stream);
  });
}

void Collective::allReduce(ElementType type, Kind kind, int64_t count,
                           const char *from, char *to, char *terms) const {
  std::optional<Reduction> reduction = reductionFor(type, kind);
  if (!reduction)
    return reduceByKernel(type, kind, count, from, to, terms);
  run("ncclAllReduce", [&] {
    return api.ncclAllReduce(from, to, count, reduction->type, reduction->op,
                             group->communicator, stream);
  });
}

/// Each device gets its part of the elements from all, the last ones a short
/// one or none, and combines them in the order of ranks; with these every
/// device is sent the same bits.
void Collective::reduceByKernel(ElementType type, Kind kind, int64_t count,
                                const char *from, char *to, char *terms) const {
  int64_t p = group->size(), width = bytesOf(type, {});
  int64_t part = ceilDiv(count, p);
  auto bytesOfPart = [&](int64_t member) {
    return rowsBefore(count, member * part, part) * width;
  };
  auto offset = [&](int64_t member) { return member * part * width; };
  int64_t mine = bytesOfPart(index);
  copy(from + offset(index), terms + index * mine, mine);
  swapWithOthers([&](int64_t member) {
    send(from + offset(member), bytesOfPart(member), member);
    receive(terms + member * mine, mine, member);
  });
  char *result = to + offset(index);
  if (mine != 0)
    combine(type, kind, mine / width, p, terms, result, stream);
  swapWithOthers([&](int64_t member) {
    send(result, mine, member);
    receive(to + offset(member), bytesOfPart(member), member);
  });
}

void Collective::reducePieces(ElementType type, Kind kind, int64_t count,
                              int64_t stride, const char *from, char *to,
                              char *terms) const {
  if (std::optional<Reduction> reduction = reductionFor(type, kind))
    return run("ncclReduceScatter", [&] {
      return api.ncclReduceScatter(from, to, count, reduction->type,
                                   reduction->op, group->communicator, stream);
    });
  int64_t p = group->size(), bytes = bytesOf(type, {&count, 1});
  swapPieces(bytes, stride, from, terms);
  combine(type, kind, count, p, terms, to, stream);
}

WatchedCall Collective::watch() const {
  return WatchedCall([this] {
    return Timeline::get().describeLate(work.activity, id, *group);
  });
}

void DeviceCopies::copy(const void *from, void *to, int64_t bytes) const {
  if (bytes != 0)
    check(
        api.cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream),
        "cudaMemcpyAsync");
}

void DeviceCopies::zero(void *to, int64_t bytes) const {
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
