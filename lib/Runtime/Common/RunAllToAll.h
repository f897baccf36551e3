// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// all_to_all from its descriptor to copies and pieces of one size, the same on
// all machines.

#ifndef SHOAL_LIB_RUNTIME_COMMON_RUNALLTOALL_H
#define SHOAL_LIB_RUNTIME_COMMON_RUNALLTOALL_H

#include "CollectiveMachine.h"
#include "shoal/Calls/CollectiveScratch.h"
#include "shoal/Support/CollectiveBytes.h"

namespace shoal::rt {

/// The pieces for the members, one after another; zero past the tensor's end.
template <CopyMachine Machine>
void packPieces(Machine &machine, const AllToAllPlan &plan, ElementType type,
                const void *in, char *packed) {
  int64_t bytes = bytesOf(type, plan.piece);
  std::vector<int64_t> zero(plan.in.size(), 0);
  for (int64_t member = 0; member < plan.numPieces(); ++member) {
    std::vector<int64_t> begin = plan.begin(member, &Move::to);
    std::vector<int64_t> extent = plan.extent(begin, plan.in);
    char *piece = packed + member * bytes;
    if (extent != plan.piece)
      machine.zero(piece, bytes);
    machine.copyBox({extent, plan.in, begin, plan.piece, zero}, type, in,
                    piece);
  }
}

/// The members' pieces, one after another, to their places.
template <CopyMachine Machine>
void unpackPieces(Machine &machine, const AllToAllPlan &plan, ElementType type,
                  const char *packed, void *out) {
  int64_t bytes = bytesOf(type, plan.piece);
  std::vector<int64_t> zero(plan.out.size(), 0);
  for (int64_t member = 0; member < plan.numPieces(); ++member) {
    std::vector<int64_t> begin = plan.begin(member, &Move::from);
    std::vector<int64_t> extent = plan.extent(begin, plan.out);
    machine.copyBox({extent, plan.piece, zero, plan.out, begin}, type,
                    packed + member * bytes, out);
  }
}

/// `scratch` has scratchBytes(call, Machine::onDevice) bytes.
template <CollectiveMachine Machine>
void runAllToAll(const AllToAllCall &call, const void *in, void *out,
                 Scratch scratch) {
  AllToAllPlan plan(call);
  int64_t p = plan.numPieces(), bytes = bytesOf(call.type, plan.piece);
  int64_t sent =
      support::allToAllSize(plan.in, plan.cuts, p) * bytesOf(call.type, {});
  Machine machine({Activity::AllToAll, call.id, sent, call.mesh, &plan.axes,
                   /*communicates=*/p > 1 && bytes != 0});
  if (bytes == 0)
    return;
  auto *send = static_cast<const char *>(in);
  if (p == 1)
    return unpackPieces(machine, plan, call.type, send, out);
  if (!plan.inOrder(plan.in, &Move::to)) {
    auto *packed = static_cast<char *>(scratch.take(p * bytes));
    packPieces(machine, plan, call.type, in, packed);
    send = packed;
  }
  bool direct = plan.inOrder(plan.out, &Move::from);
  auto *receive = static_cast<char *>(direct ? out : scratch.take(p * bytes));
  machine.swapPieces(bytes, send, receive);
  if (!direct)
    unpackPieces(machine, plan, call.type, receive, out);
}

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_COMMON_RUNALLTOALL_H
