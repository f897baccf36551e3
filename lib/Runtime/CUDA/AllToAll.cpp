// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../Common/AllToAllPlan.h"
#include "BoxCopy.h"
#include "Collective.h"
#include "Device.h"
#include "DeviceMemory.h"
#include "shoal/Support/CollectiveBytes.h"

using namespace shoal::rt;

static void pack(Collective &collective, const AllToAllPlan &plan,
                 ElementType type, int64_t p, const void *in, char *packed) {
  int64_t bytes = bytesOf(type, plan.piece);
  std::vector<int64_t> zero(plan.in.size(), 0);
  for (int64_t member = 0; member < p; ++member) {
    std::vector<int64_t> begin = plan.begin(member, &Move::to);
    std::vector<int64_t> extent = plan.extent(begin, plan.in);
    char *piece = packed + member * bytes;
    if (extent != plan.piece)
      collective.zero(piece, bytes);
    copyBox({extent, plan.in, begin, plan.piece, zero}, type, in, piece,
            collective.stream);
  }
}

static void unpack(Collective &collective, const AllToAllPlan &plan,
                   ElementType type, int64_t p, const char *packed, void *out) {
  int64_t bytes = bytesOf(type, plan.piece);
  std::vector<int64_t> zero(plan.out.size(), 0);
  for (int64_t member = 0; member < p; ++member) {
    std::vector<int64_t> begin = plan.begin(member, &Move::from);
    std::vector<int64_t> extent = plan.extent(begin, plan.out);
    copyBox({extent, plan.piece, zero, plan.out, begin}, type,
            packed + member * bytes, out, collective.stream);
  }
}

extern "C" void shoal_rt_all_to_all(const int64_t *desc, const void *in,
                                    void *out, void * /*scratch*/) {
  const auto &call = lookUp<AllToAllCall>(desc);
  ElementType type = call.type;
  AllToAllPlan plan(call);
  int64_t p = shardCount(plan.axes);
  int64_t bytes = bytesOf(type, plan.piece);
  const Group *group = p == 1 || bytes == 0
                           ? nullptr
                           : &Communicators::get().group(call.mesh, plan.axes);
  int64_t sent =
      shoal::support::allToAllSize(plan.in, plan.cuts, p) * bytesOf(type, {});
  Collective collective(Activity::AllToAll, call.id, sent, group);
  if (bytes == 0)
    return;
  if (!group)
    return unpack(collective, plan, type, 1, static_cast<const char *>(in),
                  out);

  DeviceStaging &staging = DeviceStaging::get();
  const void *send = in;
  if (!plan.inOrder(plan.in, &Move::to)) {
    void *packed = staging.at(DeviceStaging::Send, p * bytes);
    pack(collective, plan, type, p, in, static_cast<char *>(packed));
    send = packed;
  }
  bool direct = plan.inOrder(plan.out, &Move::from);
  void *receive = direct ? out : staging.at(DeviceStaging::Receive, p * bytes);
  collective.swapPieces(Device::get().indexOver(call.mesh, plan.axes), bytes,
                        static_cast<const char *>(send),
                        static_cast<char *>(receive));
  if (!direct)
    unpack(collective, plan, type, p, static_cast<const char *>(receive), out);
}
