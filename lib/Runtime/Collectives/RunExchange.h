// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// exchange and collective_permute from their descriptors to messages, the same
// on all machines.

#ifndef SHOAL_LIB_RUNTIME_COLLECTIVES_RUNEXCHANGE_H
#define SHOAL_LIB_RUNTIME_COLLECTIVES_RUNEXCHANGE_H

#include "CollectiveMachine.h"
#include "ExchangeMessages.h"
#include "shoal/Calls/Sizes.h"

namespace shoal::rt {

template <CollectiveMachine Machine>
void runPermute(const CollectivePermuteCall &call, const void *in, void *out) {
  const Topology &topology = Machine::topology();
  int64_t bytes = bytesOf(call.type, {&call.count, 1});
  std::optional<int64_t> to = topology.receiverOf(call),
                         from = topology.senderTo(call);
  bool stays = to == topology.rank(); // then nothing else comes either
  bool takesPart = !stays && (to || from);
  bool alone = topology.mesh(call.sourceMesh).numDevices() == 1;
  Machine machine({Activity::CollectivePermute, call.id, takesPart ? bytes : 0,
                   call.sourceMesh, /*axes=*/nullptr,
                   /*communicates=*/!alone && bytes != 0 && call.moves()});
  if (stays)
    return machine.copy(in, out, bytes);
  if (takesPart) {
    machine.startMessages();
    if (from)
      machine.receive(static_cast<char *>(out), bytes, *from);
    if (to)
      machine.send(static_cast<const char *>(in), bytes, *to);
    machine.endMessages();
  }
  if (!from)
    machine.zero(out, bytes);
  if (takesPart)
    machine.waitForMessages();
}

/// Starts all messages, from and to the tensors or what is staged of them.
template <CollectiveMachine Machine>
void startMessages(Machine &machine, const PlannedExchange &plan,
                   const char *in, const char *packed, char *out,
                   char *received) {
  int64_t width = bytesOf(plan.call.type, {});
  machine.startMessages();
  for (const Message &message : plan.receives.list)
    machine.receive((message.staged ? received : out) + message.at * width,
                    message.count * width, message.rank);
  for (const Message &message : plan.sends.list)
    machine.send((message.staged ? packed : in) + message.at * width,
                 message.count * width, message.rank);
  machine.endMessages();
}

/// `scratch` has scratchBytes(plan.call, Machine::onDevice) bytes.
template <CollectiveMachine Machine>
void runExchange(const PlannedExchange &plan, const void *in, void *out,
                 Scratch scratch) {
  const ExchangeCall &call = plan.call;
  int64_t width = bytesOf(call.type, {});
  bool alone = Machine::topology().mesh(call.sourceMesh).numDevices() == 1;
  // No elements to move here may be some to move elsewhere.
  Machine machine({call.isHalo ? Activity::HaloExchange : Activity::Exchange,
                   call.id, plan.traffic() * width, call.sourceMesh,
                   /*axes=*/nullptr, /*communicates=*/!alone});
  auto *packed =
      static_cast<char *>(scratch.take(plan.sends.stagedElements * width));
  auto *received =
      static_cast<char *>(scratch.take(plan.receives.stagedElements * width));
  std::vector<int64_t> zero(plan.inShape.size(), 0);
  for (const auto &[box, at] : plan.sends.staged)
    machine.copyBox({box.extent, plan.inShape, box.begin, box.extent, zero},
                    call.type, in, packed + at * width);
  bool moves = !plan.sends.list.empty() || !plan.receives.list.empty();
  if (moves)
    startMessages(machine, plan, static_cast<const char *>(in), packed,
                  static_cast<char *>(out), received);
  // While messages are under way.
  machine.copyBox({plan.localExtent, plan.inShape, plan.localFrom,
                   plan.outShape, plan.localTo},
                  call.type, in, out);
  if (moves)
    machine.waitForMessages();
  for (const auto &[box, at] : plan.receives.staged)
    machine.copyBox({box.extent, box.extent, zero, plan.outShape, box.begin},
                    call.type, received + at * width, out);
}

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_COLLECTIVES_RUNEXCHANGE_H
