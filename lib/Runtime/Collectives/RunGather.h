// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// all_gather and all_slice from their descriptors to copies and pieces, the
// same on all machines.

#ifndef SHOAL_LIB_RUNTIME_COLLECTIVES_RUNGATHER_H
#define SHOAL_LIB_RUNTIME_COLLECTIVES_RUNGATHER_H

#include "CollectiveMachine.h"
#include "shoal/Calls/CollectiveScratch.h"
#include "shoal/Support/CollectiveBytes.h"

namespace shoal::rt {

/// The rows that exist of a member's block, which are the first along each
/// dimension of `from`, a tensor of `shape`, into their place in the whole.
template <CopyMachine Machine>
void copyToWhole(Machine &machine, const Blocks &blocks, ElementType type,
                 int64_t member, const std::vector<int64_t> &shape,
                 const void *from, void *whole) {
  Box box = blocks.locate(member);
  std::vector<int64_t> zero(shape.size(), 0);
  machine.copyBox({box.extent, shape, zero, blocks.whole, box.begin}, type,
                  from, whole);
}

/// A part of a member's block of the whole, dense; rows past the end of the
/// whole become zero.
template <CopyMachine Machine>
void copyFromWhole(Machine &machine, const Blocks &blocks, ElementType type,
                   int64_t member, const Box &part, const void *whole,
                   void *to) {
  Box box = blocks.locate(member);
  for (size_t d = 0; d < box.begin.size(); ++d) {
    box.begin[d] += part.begin[d];
    box.extent[d] = rowsBefore(blocks.whole[d], box.begin[d], part.extent[d]);
  }
  if (box.extent != part.extent)
    machine.zero(to, bytesOf(type, part.extent));
  std::vector<int64_t> zero(box.begin.size(), 0);
  machine.copyBox({box.extent, blocks.whole, box.begin, part.extent, zero},
                  type, whole, to);
}

/// All of this device's block.
template <CopyMachine Machine>
void runAllSlice(Machine &machine, const AllSliceCall &call,
                 const Topology &topology, const void *in, void *out) {
  Blocks blocks(call.blocks);
  int64_t index = topology.indexOver(call.mesh, blocks.axes);
  Box all{std::vector<int64_t>(blocks.block.size(), 0), blocks.block};
  copyFromWhole(machine, blocks, call.type, index, all, in, out);
}

/// Every block is full.
template <CollectiveMachine Machine>
void gatherBlocks(Machine &machine, const Blocks &blocks, ElementType type,
                  const void *in, void *out, Scratch &scratch) {
  int64_t p = blocks.numBlocks(), bytes = bytesOf(type, blocks.block);
  bool direct = blocks.inOrder();
  auto *gathered = static_cast<char *>(direct ? out : scratch.take(p * bytes));
  machine.gatherPieces(bytes, static_cast<const char *>(in), gathered);
  for (int64_t member = 0; !direct && member < p; ++member)
    copyToWhole(machine, blocks, type, member, blocks.block,
                gathered + member * bytes, out);
}

/// Pieces of any sizes: that of member i is offsets[i] to offsets[i + 1].
template <CollectiveMachine Machine>
void gatherPieces(Machine &machine, std::span<const int64_t> offsets,
                  int64_t index, const char *from, char *to) {
  int64_t mine = offsets[index + 1] - offsets[index];
  machine.copy(from, to + offsets[index], mine);
  machine.startMessages();
  for (int64_t member = 0; member + 1 < std::ssize(offsets); ++member)
    if (member != index) {
      machine.receive(to + offsets[member],
                      offsets[member + 1] - offsets[member], member);
      machine.send(from, mine, member);
    }
  machine.endMessages();
  machine.waitForMessages();
}

/// Of uneven blocks only rows that exist travel.
template <CollectiveMachine Machine>
void gatherRows(Machine &machine, const Blocks &blocks, ElementType type,
                int64_t index, const void *in, void *out, Scratch &scratch) {
  int64_t p = blocks.numBlocks();
  std::vector<int64_t> offsets(p + 1, 0);
  for (int64_t member = 0; member < p; ++member)
    offsets[member + 1] =
        offsets[member] + bytesOf(type, blocks.locate(member).extent);
  // Else the rows are the first of the block, and go straight into the result.
  bool direct = blocks.inOrder();
  auto *send = static_cast<const char *>(in);
  auto *receive = static_cast<char *>(out);
  if (!direct) {
    Box mine = blocks.locate(index);
    std::vector<int64_t> zero(mine.extent.size(), 0);
    void *packed = scratch.take(bytesOf(type, mine.extent));
    machine.copyBox({mine.extent, blocks.block, zero, mine.extent, zero}, type,
                    in, packed);
    send = static_cast<const char *>(packed);
    receive = static_cast<char *>(scratch.take(offsets.back()));
  }
  gatherPieces(machine, offsets, index, send, receive);
  for (int64_t member = 0; !direct && member < p; ++member)
    copyToWhole(machine, blocks, type, member, blocks.locate(member).extent,
                receive + offsets[member], out);
}

/// `scratch` has scratchBytes(call, Machine::onDevice) bytes.
template <CollectiveMachine Machine>
void runAllGather(const AllGatherCall &call, const void *in, void *out,
                  Scratch scratch) {
  Blocks blocks(call.blocks);
  int64_t sent =
      support::allGatherSize(blocks.whole, blocks.block, blocks.shards()) *
      bytesOf(call.type, {});
  bool nothing = bytesOf(call.type, blocks.whole) == 0;
  bool alone = blocks.numBlocks() == 1;
  Machine machine({Activity::AllGather, call.id, sent, call.mesh, &blocks.axes,
                   /*communicates=*/!alone && !nothing});
  if (nothing)
    return;
  if (alone)
    return copyToWhole(machine, blocks, call.type, 0, blocks.block, in, out);
  if (blocks.even())
    return gatherBlocks(machine, blocks, call.type, in, out, scratch);
  int64_t index = Machine::topology().indexOver(call.mesh, blocks.axes);
  gatherRows(machine, blocks, call.type, index, in, out, scratch);
}

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_COLLECTIVES_RUNGATHER_H
