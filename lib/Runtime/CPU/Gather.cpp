// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// all_gather, all_slice and reduce_scatter: blocks along any dimensions.

#include "../Common/Blocks.h"
#include "../Common/Recorder.h"
#include "Reductions.h"
#include "StridedCopy.h"
#include "Transfer.h"
#include "shoal/Support/CollectiveBytes.h"

#include <cstring>

using namespace shoal::rt;

static void toWhole(const Blocks &blocks, ElementType type, int64_t member,
                    const void *source, void *target) {
  Box box = blocks.locate(member);
  std::vector<int64_t> zero(blocks.whole.size(), 0);
  copyBox({box.extent, blocks.block, zero, blocks.whole, box.begin}, type,
          source, target);
}

/// Rows past the end become zero.
static void toBlock(const Blocks &blocks, ElementType type, int64_t member,
                    const void *source, void *target) {
  Box box = blocks.locate(member);
  std::vector<int64_t> zero(blocks.whole.size(), 0);
  if (box.extent != blocks.block && bytesOf(type, blocks.block) != 0)
    std::memset(target, 0, bytesOf(type, blocks.block));
  copyBox({box.extent, blocks.whole, box.begin, blocks.block, zero}, type,
          source, target);
}

/// Of uneven blocks only rows that exist travel.
static void gatherRows(const Blocks &blocks, ElementType type, MPI_Comm group,
                       int64_t index, const void *in, void *out) {
  int64_t p = blocks.numBlocks(), width = bytesOf(type, {}), total = 0;
  std::vector<int> counts(p), offsets(p);
  std::vector<int64_t> zero(blocks.whole.size(), 0);
  for (int64_t member = 0; member < p; ++member) {
    counts[member] = static_cast<int>(blocks.locate(member).volume());
    offsets[member] = static_cast<int>(total);
    total += counts[member];
  }
  // Else the rows are the first of the block, and go straight into the result.
  bool direct = blocks.inOrder();
  const void *send = in;
  void *receive = out;
  if (!direct) {
    Box mine = blocks.locate(index);
    void *packed = Staging::get().at(Staging::Send, counts[index] * width);
    copyBox({mine.extent, blocks.block, zero, mine.extent, zero}, type, in,
            packed);
    send = packed;
    receive = Staging::get().at(Staging::Receive, total * width);
  }
  BlockType element(width);
  check(MPI_Allgatherv(send, counts[index], element, receive, counts.data(),
                       offsets.data(), element, group),
        "MPI_Allgatherv");
  for (int64_t member = 0; !direct && member < p; ++member) {
    Box box = blocks.locate(member);
    copyBox({box.extent, box.extent, zero, blocks.whole, box.begin}, type,
            static_cast<char *>(receive) + offsets[member] * width, out);
  }
}

extern "C" void shoal_rt_all_gather(const int64_t *desc, const void *in,
                                    void *out, void * /*scratch*/) {
  const auto &call = lookUp<AllGatherCall>(desc);
  ElementType type = call.type;
  Blocks blocks(call.blocks);
  int64_t p = blocks.numBlocks();
  int64_t bytes = bytesOf(type, blocks.block);
  int64_t wholeBytes = bytesOf(type, blocks.whole);
  Timed timed(Activity::AllGather, call.id,
              shoal::support::allGatherSize(blocks.whole, blocks.block,
                                            blocks.shards()) *
                  bytesOf(type, {}));
  if (wholeBytes == 0)
    return;
  if (p == 1)
    return toWhole(blocks, type, 0, in, out);
  MPI_Comm group = Device::get().group(call.mesh, blocks.axes);
  BlockType block(bytes);
  bool even = blocks.even();
  // MPI counts in int.
  if (!even && wholeBytes / bytesOf(type, {}) <= INT32_MAX) {
    int64_t index = Device::get().indexOver(call.mesh, blocks.axes);
    return gatherRows(blocks, type, group, index, in, out);
  }
  bool direct = blocks.inOrder() && even;
  char *gathered = static_cast<char *>(
      direct ? out : Staging::get().at(Staging::Receive, p * bytes));
  check(MPI_Allgather(in, 1, block, gathered, 1, block, group),
        "MPI_Allgather");
  for (int64_t member = 0; !direct && member < p; ++member)
    toWhole(blocks, type, member, gathered + member * bytes, out);
}

extern "C" void shoal_rt_all_slice(const int64_t *desc, const void *in,
                                   void *out) {
  const auto &call = lookUp<AllSliceCall>(desc);
  Blocks blocks(call.blocks);
  int64_t index = Device::get().indexOver(call.mesh, blocks.axes);
  toBlock(blocks, call.type, index, in, out);
}

extern "C" void shoal_rt_reduce_scatter(const int64_t *desc, const void *in,
                                        void *out, void * /*scratch*/) {
  const auto &call = lookUp<ReduceScatterCall>(desc);
  ElementType type = call.type;
  Blocks blocks(call.blocks);
  int64_t p = blocks.numBlocks();
  int64_t bytes = bytesOf(type, blocks.block);
  Timed timed(Activity::ReduceScatter, call.id,
              shoal::support::reduceScatterSize(bytes, p));
  if (bytes == 0)
    return;
  if (p == 1)
    return toBlock(blocks, type, 0, in, out);
  int64_t count = shoal::support::numElements(blocks.block);
  if (count > INT32_MAX)
    fatal("reduce_scatter of more than 2^31 elements per device");
  MPI_Comm group = Device::get().group(call.mesh, blocks.axes);
  const void *packed = in;
  if (!blocks.inOrder() || !blocks.even()) {
    char *staging =
        static_cast<char *>(Staging::get().at(Staging::Send, p * bytes));
    for (int64_t member = 0; member < p; ++member)
      toBlock(blocks, type, member, in, staging + member * bytes);
    packed = staging;
  }
  Reduction reduction = reductionFor(type, call.kind);
  check(MPI_Reduce_scatter_block(packed, out, static_cast<int>(count),
                                 reduction.type, reduction.op, group),
        "MPI_Reduce_scatter_block");
}
