// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// all_gather and all_slice: blocks along any dimensions.

#include "BlockCopy.h"
#include "Collective.h"
#include "Device.h"
#include "DeviceMemory.h"
#include "shoal/Support/CollectiveBytes.h"

using namespace shoal::rt;

/// Every block is full: one call, which puts them one after another.
static void gatherBlocks(Collective &collective, const Group &group,
                         const Blocks &blocks, ElementType type, const void *in,
                         void *out) {
  int64_t p = group.size(), bytes = bytesOf(type, blocks.block);
  bool direct = blocks.inOrder();
  auto *gathered = static_cast<char *>(
      direct ? out
             : DeviceStaging::get().at(DeviceStaging::Receive, p * bytes));
  collective.run("ncclAllGather", [&] {
    return api.ncclAllGather(in, gathered, bytes, ncclInt8, group.communicator,
                             collective.stream);
  });
  for (int64_t member = 0; !direct && member < p; ++member)
    copyToWhole(blocks, type, member, gathered + member * bytes, out,
                collective.stream);
}

/// Of uneven blocks only rows that exist travel, which NCCL has no call for.
static void gatherRows(Collective &collective, const Group &group,
                       const Blocks &blocks, ElementType type, int64_t index,
                       const void *in, void *out) {
  int64_t p = group.size();
  std::vector<int64_t> offsets(p + 1, 0);
  for (int64_t member = 0; member < p; ++member)
    offsets[member + 1] =
        offsets[member] + bytesOf(type, blocks.locate(member).extent);
  auto bytesFrom = [&](int64_t member) {
    return offsets[member + 1] - offsets[member];
  };
  // Else the rows are the first of the block, and go straight into the result.
  bool direct = blocks.inOrder();
  const void *send = in;
  auto *receive = static_cast<char *>(out);
  if (!direct) {
    DeviceStaging &staging = DeviceStaging::get();
    void *packed = staging.at(DeviceStaging::Send, bytesFrom(index));
    copyRows(blocks, type, index, in, packed, collective.stream);
    send = packed;
    receive =
        static_cast<char *>(staging.at(DeviceStaging::Receive, offsets.back()));
  }
  collective.copy(send, receive + offsets[index], bytesFrom(index));
  collective.swapWithOthers(index, [&](int64_t member) {
    collective.send(send, bytesFrom(index), member);
    collective.receive(receive + offsets[member], bytesFrom(member), member);
  });
  for (int64_t member = 0; !direct && member < p; ++member)
    copyRowsToWhole(blocks, type, member, receive + offsets[member], out,
                    collective.stream);
}

extern "C" void shoal_rt_all_gather(const int64_t *desc, const void *in,
                                    void *out, void * /*scratch*/) {
  const auto &call = lookUp<AllGatherCall>(desc);
  ElementType type = call.type;
  Blocks blocks(call.blocks);
  int64_t sent = shoal::support::allGatherSize(blocks.whole, blocks.block,
                                               blocks.shards()) *
                 bytesOf(type, {});
  bool nothing = bytesOf(type, blocks.whole) == 0;
  const Group *group =
      blocks.numBlocks() == 1 || nothing
          ? nullptr
          : &Communicators::get().group(call.mesh, blocks.axes);
  Collective collective(Activity::AllGather, call.id, sent, group);
  if (nothing)
    return;
  if (!group)
    return copyToWhole(blocks, type, 0, in, out, collective.stream);
  if (blocks.even())
    return gatherBlocks(collective, *group, blocks, type, in, out);
  int64_t index = Device::get().indexOver(call.mesh, blocks.axes);
  gatherRows(collective, *group, blocks, type, index, in, out);
}

extern "C" void shoal_rt_all_slice(const int64_t *desc, const void *in,
                                   void *out) {
  const auto &call = lookUp<AllSliceCall>(desc);
  Blocks blocks(call.blocks);
  setActivity("call", "all_slice");
  copyToBlock(blocks, call.type,
              Device::get().indexOver(call.mesh, blocks.axes), in, out,
              Device::get().compute());
}
