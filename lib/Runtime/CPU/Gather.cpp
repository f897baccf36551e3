// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// all_gather, all_slice and reduce_scatter: blocks along any dimensions.

#include "../Common/Descriptor.h"
#include "../Common/Recorder.h"
#include "Reductions.h"
#include "StridedCopy.h"
#include "Transfer.h"
#include "shoal/Support/CollectiveBytes.h"

#include <cstring>

using namespace shoal::rt;

namespace {
/// A tensor cut into blocks along each dimension: the common part of the three
/// descriptors.
struct Blocks {
  std::vector<int64_t> whole;
  std::vector<int64_t> block;
  std::vector<Axes> dims;
  /// Of all dimensions, dim 0's the most major.
  Axes axes;

  Blocks(Descriptor &reader, bool blockFirst) {
    int64_t rank = reader.number();
    block = reader.numbers(rank);
    whole = reader.numbers(rank);
    if (!blockFirst)
      std::swap(block, whole);
    dims = reader.axesOfDims(rank);
    for (const Axes &dim : dims)
      axes.insert(axes.end(), dim.begin(), dim.end());
  }

  int64_t numBlocks() const { return shardCount(axes); }

  std::vector<int64_t> shards() const {
    std::vector<int64_t> counts;
    for (const Axes &dim : dims)
      counts.push_back(shardCount(dim));
    return counts;
  }

  /// Where the block of a group member begins and how much of it exists.
  void locate(int64_t member, std::vector<int64_t> &begin,
              std::vector<int64_t> &extent) const {
    begin.assign(whole.size(), 0);
    extent = begin;
    for (size_t d = whole.size(); d-- > 0;) {
      int64_t p = shardCount(dims[d]);
      begin[d] = member % p * block[d];
      extent[d] = rowsBefore(whole[d], begin[d], block[d]);
      member /= p;
    }
  }

  /// True if the blocks lie one after another in the whole, so that the whole
  /// needs no staging; the last ones may be short.
  bool inOrder() const {
    size_t d = 0;
    while (d < whole.size() && block[d] == 1 && shardCount(dims[d]) == 1 &&
           whole[d] == 1)
      ++d;
    for (size_t rest = d + 1; rest < whole.size(); ++rest)
      if (shardCount(dims[rest]) > 1 || whole[rest] != block[rest])
        return false;
    return true;
  }

  void toWhole(ElementType type, int64_t member, const void *source,
               void *target) const {
    std::vector<int64_t> begin, extent, zero(whole.size(), 0);
    locate(member, begin, extent);
    copyBox({extent, block, zero, whole, begin}, type, source, target);
  }

  /// Rows past the end become zero.
  void toBlock(ElementType type, int64_t member, const void *source,
               void *target) const {
    std::vector<int64_t> begin, extent, zero(whole.size(), 0);
    locate(member, begin, extent);
    if (extent != block && bytesOf(type, block) != 0)
      std::memset(target, 0, bytesOf(type, block));
    copyBox({extent, whole, begin, block, zero}, type, source, target);
  }
};
} // namespace

/// Of uneven blocks only rows that exist travel.
static void gatherRows(const Blocks &blocks, ElementType type, MPI_Comm group,
                       int64_t index, const void *in, void *out) {
  int64_t p = blocks.numBlocks(), width = bytesOf(type, {}), total = 0;
  std::vector<int> counts(p), offsets(p);
  std::vector<int64_t> begin, extent, zero(blocks.whole.size(), 0);
  for (int64_t member = 0; member < p; ++member) {
    blocks.locate(member, begin, extent);
    counts[member] = static_cast<int>(bytesOf(type, extent) / width);
    offsets[member] = static_cast<int>(total);
    total += counts[member];
  }
  // Else the rows are the first of the block, and go straight into the result.
  bool direct = blocks.inOrder();
  const void *send = in;
  void *receive = out;
  if (!direct) {
    blocks.locate(index, begin, extent);
    void *packed = Staging::get().at(Staging::Send, counts[index] * width);
    copyBox({extent, blocks.block, zero, extent, zero}, type, in, packed);
    send = packed;
    receive = Staging::get().at(Staging::Receive, total * width);
  }
  BlockType element(width);
  check(MPI_Allgatherv(send, counts[index], element, receive, counts.data(),
                       offsets.data(), element, group),
        "MPI_Allgatherv");
  for (int64_t member = 0; !direct && member < p; ++member) {
    blocks.locate(member, begin, extent);
    copyBox({extent, extent, zero, blocks.whole, begin}, type,
            static_cast<char *>(receive) + offsets[member] * width, out);
  }
}

extern "C" void shoal_rt_all_gather(const int64_t *desc, const void *in,
                                    void *out) {
  Descriptor reader(desc);
  int64_t id = reader.number();
  ElementType type = reader.type();
  int64_t mesh = reader.number();
  Blocks blocks(reader, /*blockFirst=*/true);
  int64_t p = blocks.numBlocks();
  int64_t bytes = bytesOf(type, blocks.block);
  int64_t wholeBytes = bytesOf(type, blocks.whole);
  Timed timed(Activity::AllGather, id,
              shoal::support::allGatherSize(blocks.whole, blocks.block,
                                            blocks.shards()) *
                  bytesOf(type, {}));
  if (wholeBytes == 0)
    return;
  if (p == 1)
    return blocks.toWhole(type, 0, in, out);
  MPI_Comm group = Device::get().group(mesh, blocks.axes);
  BlockType block(bytes);
  bool even = wholeBytes == p * bytes;
  // MPI counts in int.
  if (!even && wholeBytes / bytesOf(type, {}) <= INT32_MAX) {
    int64_t index = Device::get().indexOver(mesh, blocks.axes);
    return gatherRows(blocks, type, group, index, in, out);
  }
  bool direct = blocks.inOrder() && even;
  char *gathered = static_cast<char *>(
      direct ? out : Staging::get().at(Staging::Receive, p * bytes));
  check(MPI_Allgather(in, 1, block, gathered, 1, block, group),
        "MPI_Allgather");
  for (int64_t member = 0; !direct && member < p; ++member)
    blocks.toWhole(type, member, gathered + member * bytes, out);
}

extern "C" void shoal_rt_all_slice(const int64_t *desc, const void *in,
                                   void *out) {
  Descriptor reader(desc);
  reader.number();
  ElementType type = reader.type();
  int64_t mesh = reader.number();
  Blocks blocks(reader, /*blockFirst=*/false);
  int64_t index = Device::get().indexOver(mesh, blocks.axes);
  blocks.toBlock(type, index, in, out);
}

extern "C" void shoal_rt_reduce_scatter(const int64_t *desc, const void *in,
                                        void *out) {
  Descriptor reader(desc);
  int64_t id = reader.number();
  ElementType type = reader.type();
  int64_t mesh = reader.number();
  Kind kind = reader.kind();
  Blocks blocks(reader, /*blockFirst=*/false);
  int64_t p = blocks.numBlocks();
  int64_t bytes = bytesOf(type, blocks.block);
  int64_t wholeBytes = bytesOf(type, blocks.whole);
  Timed timed(Activity::ReduceScatter, id,
              shoal::support::reduceScatterSize(bytes, p));
  if (bytes == 0)
    return;
  if (p == 1)
    return blocks.toBlock(type, 0, in, out);
  int64_t count = shoal::support::numElements(blocks.block);
  if (count > INT32_MAX)
    fatal("reduce_scatter of more than 2^31 elements per device");
  MPI_Comm group = Device::get().group(mesh, blocks.axes);
  const void *packed = in;
  if (!blocks.inOrder() || wholeBytes != p * bytes) {
    char *staging =
        static_cast<char *>(Staging::get().at(Staging::Send, p * bytes));
    for (int64_t member = 0; member < p; ++member)
      blocks.toBlock(type, member, in, staging + member * bytes);
    packed = staging;
  }
  Reduction reduction = reductionFor(type, kind);
  check(MPI_Reduce_scatter_block(packed, out, static_cast<int>(count),
                                 reduction.type, reduction.op, group),
        "MPI_Reduce_scatter_block");
}
