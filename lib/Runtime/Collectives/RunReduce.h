// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// all_reduce and reduce_scatter from their descriptors to reductions of bounded
// size, the same on all machines.

#ifndef SHOAL_LIB_RUNTIME_COLLECTIVES_RUNREDUCE_H
#define SHOAL_LIB_RUNTIME_COLLECTIVES_RUNREDUCE_H

#include "RunGather.h"

namespace shoal::rt {

/// `scratch` has scratchBytes(call, Machine::onDevice) bytes.
template <CollectiveMachine Machine>
void runAllReduce(const AllReduceCall &call, const void *in, void *out,
                  Scratch scratch) {
  int64_t p = shardCount(call.axes), width = bytesOf(call.type, {});
  int64_t bytes = call.count * width;
  Machine machine({Activity::AllReduce, call.id,
                   support::allReduceSize(bytes, p), call.mesh, &call.axes,
                   /*communicates=*/p > 1 && bytes != 0});
  if (p == 1 || bytes == 0) {
    if (in != out)
      machine.copy(in, out, bytes);
    return;
  }
  auto *terms =
      static_cast<char *>(scratch.take(scratchBytes(call, Machine::onDevice)));
  int64_t atOnce = reducedAtOnce(call.type, call.kind, call.count, /*p=*/1,
                                 Machine::onDevice);
  for (int64_t done = 0; done < call.count; done += atOnce)
    machine.allReduce(call.type, call.kind, std::min(atOnce, call.count - done),
                      static_cast<const char *>(in) + done * width,
                      static_cast<char *>(out) + done * width, terms);
}

/// A reduce_scatter and what follows from its descriptor: a short one takes no
/// longer than to find that out.
struct PlannedReduceScatter {
  ReduceScatterCall call;
  Blocks blocks;
  /// Of a block; of what counts as traffic; of the scratch.
  int64_t blockBytes, traffic, scratch;
  /// Whether blocks lie one after another in the input, all of them full.
  bool direct;
  /// Whether terms of others are received to be combined here.
  bool hasTerms;
  /// In which a block is reduced; nothing where nothing is communicated.
  std::optional<BlockParts> parts;

  PlannedReduceScatter(const ReduceScatterCall &call, bool onDevice)
      : call(call), blocks(call.blocks),
        blockBytes(bytesOf(call.type, blocks.block)),
        traffic(support::reduceScatterSize(blockBytes, blocks.numBlocks())),
        scratch(scratchBytes(call, onDevice)),
        direct(blocks.inOrder() && blocks.even()),
        hasTerms(!onDevice || !ncclReduces(call.type, call.kind)) {
    if (blocks.numBlocks() > 1 && blockBytes != 0)
      parts = partsOf(call, onDevice);
  }
};

/// `scratch` has planned.scratch bytes.
template <CollectiveMachine Machine>
void runReduceScatter(const PlannedReduceScatter &planned, const void *in,
                      void *out, Scratch scratch) {
  const ReduceScatterCall &call = planned.call;
  const Blocks &blocks = planned.blocks;
  int64_t p = blocks.numBlocks(), width = bytesOf(call.type, {});
  int64_t blockBytes = planned.blockBytes;
  Machine machine({Activity::ReduceScatter, call.id, planned.traffic, call.mesh,
                   &blocks.axes, planned.parts.has_value()});
  if (blockBytes == 0)
    return;
  if (p == 1)
    return machine.copy(in, out, blockBytes);
  const BlockParts &parts = *planned.parts;
  bool direct = planned.direct;
  auto *packed =
      direct ? nullptr
             : static_cast<char *>(scratch.take(p * parts.elements() * width));
  auto *terms = static_cast<char *>(
      scratch.take(planned.hasTerms ? p * parts.elements() * width : 0));
  auto *from = static_cast<const char *>(in);
  auto *to = static_cast<char *>(out);
  parts.forEach([&](const Box &part) {
    int64_t count = part.volume(), bytes = count * width;
    for (int64_t member = 0; !direct && member < p; ++member)
      copyFromWhole(machine, blocks, call.type, member, part, in,
                    packed + member * bytes);
    machine.reducePieces(call.type, call.kind, count,
                         /*stride=*/direct ? blockBytes : bytes,
                         direct ? from : packed, to, terms);
    from += bytes;
    to += bytes;
  });
}

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_COLLECTIVES_RUNREDUCE_H
