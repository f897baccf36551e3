// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// all_to_all from its descriptor to copies and pieces of one size, the same on
// all machines.

#ifndef SHOAL_LIB_RUNTIME_COLLECTIVES_RUNALLTOALL_H
#define SHOAL_LIB_RUNTIME_COLLECTIVES_RUNALLTOALL_H

#include "CollectiveMachine.h"
#include "shoal/Calls/CollectiveScratch.h"
#include "shoal/Support/CollectiveBytes.h"

#include <numeric>

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

/// The dense runs of the pieces, each from its place to its place. This
/// device's own piece is copied while they are under way.
template <CollectiveMachine Machine>
void swapRuns(Machine &machine, const AllToAllCall &call,
              const AllToAllPlan &plan, const PieceRuns &runs, const char *in,
              char *out) {
  int64_t p = plan.numPieces(), width = bytesOf(call.type, {});
  int64_t me = Machine::topology().indexOver(call.mesh, plan.axes);
  std::vector<int64_t> inStrides = rowMajorStrides(plan.in);
  std::vector<int64_t> outStrides = rowMajorStrides(plan.out);
  Loops<2> outer;
  for (size_t d = 0; d < runs.numOuterDims; ++d)
    outer.push_back({plan.piece[d], {inStrides[d], outStrides[d]}});
  auto placeOf = [&](int64_t member, size_t Move::*dim, auto &strides) {
    std::vector<int64_t> begin = plan.begin(member, dim);
    return std::inner_product(begin.begin(), begin.end(), strides.begin(),
                              int64_t(0));
  };
  machine.startMessages();
  // In turns, so that no device is everybody's first.
  for (int64_t step = 1; step < p; ++step) {
    int64_t from = (me + p - step) % p, to = (me + step) % p;
    int64_t outBegin = placeOf(from, &Move::from, outStrides);
    int64_t inBegin = placeOf(to, &Move::to, inStrides);
    products::forEach<2>(outer, [&](const Offsets<2> &at) {
      machine.receive(out + (outBegin + at[1]) * width, runs.elements * width,
                      from);
      machine.send(in + (inBegin + at[0]) * width, runs.elements * width, to);
    });
  }
  machine.endMessages();
  machine.copyBox({plan.piece, plan.in, plan.begin(me, &Move::to), plan.out,
                   plan.begin(me, &Move::from)},
                  call.type, in, out);
  machine.waitForMessages();
}

/// An all_to_all and what follows from its descriptor: a short one takes no
/// longer than to find that out.
struct PlannedAllToAll {
  AllToAllCall call;
  AllToAllPlan plan;
  /// Of a piece; of what counts as traffic; of the scratch.
  int64_t pieceBytes, traffic, scratch;
  /// Whether pieces lie one after another in the tensors.
  bool sendsInOrder = true, receivesInOrder = true;
  /// Where messages need no staging.
  std::optional<PieceRuns> runs;

  PlannedAllToAll(const AllToAllCall &call, bool onDevice)
      : call(call), plan(call), pieceBytes(bytesOf(call.type, plan.piece)),
        traffic(support::allToAllSize(plan.in, plan.cuts, plan.numPieces()) *
                bytesOf(call.type, {})),
        scratch(scratchBytes(call, onDevice)) {
    if (!communicates())
      return;
    sendsInOrder = plan.sendsInOrder();
    receivesInOrder = plan.receivesInOrder();
    if (!onDevice)
      runs = plan.runs(call.type);
  }

  bool communicates() const { return plan.numPieces() > 1 && pieceBytes != 0; }
};

/// `scratch` has planned.scratch bytes.
template <CollectiveMachine Machine>
void runAllToAll(const PlannedAllToAll &planned, const void *in, void *out,
                 Scratch scratch) {
  const AllToAllCall &call = planned.call;
  const AllToAllPlan &plan = planned.plan;
  int64_t p = plan.numPieces(), bytes = planned.pieceBytes;
  Machine machine({Activity::AllToAll, call.id, planned.traffic, call.mesh,
                   &plan.axes, planned.communicates()});
  if (bytes == 0)
    return;
  auto *send = static_cast<const char *>(in);
  if (p == 1)
    return unpackPieces(machine, plan, call.type, send, out);
  if (planned.runs)
    return swapRuns(machine, call, plan, *planned.runs, send,
                    static_cast<char *>(out));
  if (!planned.sendsInOrder) {
    auto *packed = static_cast<char *>(scratch.take(p * bytes));
    packPieces(machine, plan, call.type, in, packed);
    send = packed;
  }
  bool direct = planned.receivesInOrder;
  auto *receive = static_cast<char *>(direct ? out : scratch.take(p * bytes));
  machine.swapPieces(bytes, send, receive);
  if (!direct)
    unpackPieces(machine, plan, call.type, receive, out);
}

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_COLLECTIVES_RUNALLTOALL_H
