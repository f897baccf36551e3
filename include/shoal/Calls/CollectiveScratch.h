// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The scratch of collectives: what is packed to be sent, what is received
// before it gets to its place, and the terms of a reduction. Bounds over all
// devices.

#ifndef SHOAL_CALLS_COLLECTIVESCRATCH_H
#define SHOAL_CALLS_COLLECTIVESCRATCH_H

#include "shoal/Calls/AllToAllPlan.h"
#include "shoal/Calls/BlockParts.h"
#include "shoal/Calls/Blocks.h"
#include "shoal/Calls/Scratch.h"

namespace shoal::calls {

/// Whether NCCL reduces with the meaning of Kind; otherwise a kernel does.
///
///  type          sum    prod      max, min    and, or
///  f32, f64      NCCL   NCCL      kernel      not defined
///  bf16, f16     NCCL   kernel    kernel      not defined
///  i64, i32, i8  NCCL   NCCL      NCCL        kernel
///  i16, f8       kernel for all: NCCL has no such type
///  i1            NCCL's max of bytes for or, its min for and
///
/// NCCL does not promise NaN for a max or a min with one, and has no bitwise
/// kinds. A product of small floats by it may be rounded after each pair; of a
/// sum, whose terms it adds in f32, this is accepted.
inline bool ncclReduces(ElementType type, Kind kind) {
  if (type == ElementType::I1)
    return true;
  if (type == ElementType::I16 || support::isFloat8(type))
    return false;
  if (!support::isFloat(type))
    return kind != Kind::And && kind != Kind::Or;
  return kind == Kind::Sum ||
         (kind == Kind::Prod && !support::isSmallFloat(type));
}

/// Whether MPI reduces with the meaning of Kind. It combines pairs, each of
/// which would be rounded: of more than two terms of bf16, f16 or f8 a sum or a
/// product is ours, in f32, and rounded once.
inline bool mpiReduces(ElementType type, Kind kind, int64_t p) {
  return p <= 2 || !support::isSmallFloat(type) ||
         (kind != Kind::Sum && kind != Kind::Prod);
}

/// Whether an all_reduce of `p` devices is the library's.
inline bool libraryReduces(ElementType type, Kind kind, int64_t p,
                           bool onDevice) {
  return onDevice ? ncclReduces(type, kind) : mpiReduces(type, kind, p);
}

/// Bytes of a tensor that are reduced at a time, of all terms together. This
/// bounds our scratch and, on a CPU, the buffers that MPI allocates for its
/// own algorithms, which are as large as the message.
inline constexpr int64_t cpuReducedAtOnce = int64_t(4) << 20;
inline constexpr int64_t deviceReducedAtOnce = int64_t(64) << 20;

/// Elements reduced at a time where `p` devices give terms; NCCL takes all.
inline int64_t reducedAtOnce(ElementType type, Kind kind, int64_t count,
                             int64_t p, bool onDevice) {
  if (onDevice && ncclReduces(type, kind))
    return count;
  int64_t bytes = onDevice ? deviceReducedAtOnce : cpuReducedAtOnce;
  return std::clamp<int64_t>(bytes / (p * bytesOf(type, {})), 1, count);
}

/// Pieces that lie in order need none, nor do those that a CPU sends as runs.
inline int64_t scratchBytes(const AllToAllCall &call, bool onDevice) {
  AllToAllPlan plan(call);
  int64_t p = plan.numPieces(), bytes = p * bytesOf(call.type, plan.piece);
  if (p == 1 || bytes == 0 || (!onDevice && plan.runs(call.type)))
    return 0;
  return sumOfPieces(
      {plan.sendsInOrder() ? 0 : bytes, plan.receivesInOrder() ? 0 : bytes});
}

/// A device has memory of its own for what is said of slices before they are
/// sent, and what is heard.
inline int64_t scratchBytes(const RaggedAllToAllCall &call, bool onDevice) {
  if (!onDevice || shardCount(call.axes) == 1)
    return 0;
  auto bytes = call.slices * static_cast<int64_t>(sizeof(AnnouncedSlice));
  return sumOfPieces({bytes, bytes});
}

/// Of uneven blocks the rows that exist are packed, then received.
inline int64_t scratchBytes(const AllGatherCall &call, bool /*onDevice*/) {
  Blocks blocks(call.blocks);
  int64_t whole = bytesOf(call.type, blocks.whole);
  if (blocks.numBlocks() == 1 || whole == 0 || blocks.inOrder())
    return 0;
  // No device's block has more rows than the first, which is full.
  int64_t packed = blocks.even() ? 0 : bytesOf(call.type, blocks.block);
  return sumOfPieces({packed, whole});
}

/// An all_reduce that is ours: each device gets its part of the terms.
inline int64_t scratchBytes(const AllReduceCall &call, bool onDevice) {
  int64_t p = shardCount(call.axes);
  if (p == 1 || call.count == 0 ||
      libraryReduces(call.type, call.kind, p, onDevice))
    return 0;
  int64_t part = ceilDiv(
      reducedAtOnce(call.type, call.kind, call.count, /*p=*/1, onDevice), p);
  return sumOfPieces({p * bytesOf(call.type, {&part, 1})});
}

/// In which parts a block of the result is reduced.
inline BlockParts partsOf(const ReduceScatterCall &call, bool onDevice) {
  const std::vector<int64_t> &block = call.blocks.block;
  return {block,
          reducedAtOnce(call.type, call.kind, support::numElements(block),
                        Blocks(call.blocks).numBlocks(), onDevice)};
}

/// Packed parts of blocks that do not lie in order, and the terms of one part.
inline int64_t scratchBytes(const ReduceScatterCall &call, bool onDevice) {
  Blocks blocks(call.blocks);
  int64_t p = blocks.numBlocks();
  if (p == 1 || support::numElements(blocks.block) == 0)
    return 0;
  int64_t part = partsOf(call, onDevice).elements();
  int64_t bytes = p * bytesOf(call.type, {&part, 1});
  bool direct = blocks.inOrder() && blocks.even();
  bool hasTerms = !onDevice || !ncclReduces(call.type, call.kind);
  return sumOfPieces({direct ? 0 : bytes, hasTerms ? bytes : 0});
}

/// Whether all of what devices send and get lies dense in their tensors: what
/// is cut is one dimension, those in front of it have one row.
inline bool isDense(const ExchangeCall &call) {
  auto hasOneRow = [](const ExchangeDim &dim) {
    int64_t block = ceilDiv(dim.size, shardCount(dim.source));
    return std::min(block, dim.rows) <= 1;
  };
  auto isWhole = [](const ExchangeDim &dim) {
    int64_t last = dim.step * (shardCount(dim.target) - 1) + dim.offset;
    auto beginsAtZero = [&](int64_t at) { return at >= 0 && at < dim.divisor; };
    return shardCount(dim.source) == 1 && dim.rows == dim.size &&
           beginsAtZero(dim.offset) && beginsAtZero(last);
  };
  auto cut = std::ranges::find_if_not(call.dims, hasOneRow);
  return cut == call.dims.end() ||
         std::all_of(cut + 1, call.dims.end(), isWhole);
}

/// What is packed, and what is received before it gets to its place.
inline int64_t scratchBytes(const ExchangeCall &call, bool /*onDevice*/) {
  int64_t width = bytesOf(call.type, {});
  return isDense(call)
             ? 0
             : sumOfPieces({call.packed * width, call.received * width});
}

} // namespace shoal::calls

#endif // SHOAL_CALLS_COLLECTIVESCRATCH_H
