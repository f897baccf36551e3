// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// ragged_all_to_all from its descriptor to messages, the same on all machines.
//
// First all devices tell each other which rows they send where. What does not
// fit ends the job before anything is written; behind that both sides of every
// message agree, so that none waits for another.

#ifndef SHOAL_LIB_RUNTIME_COLLECTIVES_RUNRAGGEDALLTOALL_H
#define SHOAL_LIB_RUNTIME_COLLECTIVES_RUNRAGGEDALLTOALL_H

#include "CollectiveMachine.h"
#include "RaggedSlices.h"
#include "shoal/Calls/CollectiveScratch.h"

namespace shoal::rt {

/// The operands of the call but the rows.
struct RaggedLists {
  const void *inOffsets, *sendSizes, *outOffsets, *recvSizes;
};

template <CollectiveMachine Machine>
RaggedCounts readCounts(Machine &machine, const RaggedAllToAllCall &call,
                        const RaggedLists &lists) {
  int64_t bytes = bytesOf(call.countType, {&call.slices, 1});
  const void *tensors[] = {lists.inOffsets, lists.sendSizes, lists.outOffsets,
                           lists.recvSizes};
  std::vector<char> words(4 * bytes);
  for (int64_t i = 0; i < 4; ++i)
    machine.copyToHost(tensors[i], words.data() + i * bytes, bytes);
  machine.waitForHost();
  auto list = [&](int64_t i) {
    std::vector<int64_t> values(call.slices);
    const char *from = words.data() + i * bytes;
    if (call.countType == ElementType::I64)
      std::copy_n(reinterpret_cast<const int64_t *>(from), call.slices,
                  values.begin());
    else
      std::copy_n(reinterpret_cast<const int32_t *>(from), call.slices,
                  values.begin());
    return values;
  };
  return {list(0), list(1), list(2), list(3)};
}

/// Bytes that this device sends or gets, whichever is more.
inline int64_t raggedTraffic(const RaggedAllToAllCall &call,
                             const RaggedCounts &counts, int64_t me) {
  int64_t each = call.slices / shardCount(call.axes);
  int64_t sent = 0, received = 0;
  for (int64_t i = 0; i < call.slices; ++i)
    if (i / each != me) {
      sent += counts.sendSizes[i];
      received += counts.recvSizes[i];
    }
  return std::max(sent, received) * call.rowElements * bytesOf(call.type, {});
}

/// `out` is what it was but for the rows that come. `scratch` has
/// scratchBytes(call, Machine::onDevice) bytes.
template <CollectiveMachine Machine>
void runRaggedAllToAll(const RaggedAllToAllCall &call, const char *in,
                       const RaggedLists &lists, char *out, Scratch scratch) {
  int64_t p = shardCount(call.axes), each = call.slices / p;
  int64_t me = Machine::topology().indexOver(call.mesh, call.axes);
  int64_t width = call.rowElements * bytesOf(call.type, {});
  Machine machine({Activity::RaggedAllToAll, call.id, /*bytes=*/0, call.mesh,
                   &call.axes, /*communicates=*/p > 1});
  RaggedCounts counts = readCounts(machine, call, lists);
  std::string error = findSendError(call, counts);
  if (!error.empty())
    machine.fail(error);
  std::vector<AnnouncedSlice> told = announce(counts), heard = told;
  if (p > 1) {
    auto bytes = call.slices * static_cast<int64_t>(sizeof(AnnouncedSlice));
    auto *from = reinterpret_cast<const char *>(told.data());
    auto *to = reinterpret_cast<char *>(heard.data());
    auto *sent =
        static_cast<char *>(Machine::onDevice ? scratch.take(bytes) : nullptr);
    auto *come =
        static_cast<char *>(Machine::onDevice ? scratch.take(bytes) : nullptr);
    machine.swapOnHost(bytes / p, p, from, to, {sent, come});
  }
  error = findReceiveError(call, counts, heard);
  if (!error.empty())
    machine.fail(error);
  machine.countBytes(raggedTraffic(call, counts, me));
  if (p > 1) {
    machine.startMessages();
    // In turns, so that no device is everybody's first.
    for (int64_t step = 1; step < p; ++step) {
      int64_t sender = (me + p - step) % p, target = (me + step) % p;
      for (int64_t j = 0; j < each; ++j) {
        const AnnouncedSlice &slice = heard[sender * each + j];
        machine.receive(out + slice.to * width, slice.rows * width, sender);
      }
      for (int64_t j = target * each; j < (target + 1) * each; ++j)
        machine.send(in + counts.inOffsets[j] * width,
                     counts.sendSizes[j] * width, target);
    }
    machine.endMessages();
  }
  // Its own rows while the others' are under way.
  for (int64_t j = me * each; j < (me + 1) * each; ++j)
    machine.copy(in + counts.inOffsets[j] * width, out + heard[j].to * width,
                 counts.sendSizes[j] * width);
  if (p > 1)
    machine.waitForMessages();
}

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_COLLECTIVES_RUNRAGGEDALLTOALL_H
