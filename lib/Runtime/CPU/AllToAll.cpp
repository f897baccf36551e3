// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../Common/AllToAllPlan.h"
#include "../Common/Recorder.h"
#include "StridedCopy.h"
#include "Transfer.h"
#include "shoal/Support/CollectiveBytes.h"

#include <cstring>

using namespace shoal::rt;

static void pack(const AllToAllPlan &plan, ElementType type, int64_t p,
                 const void *in, char *packed) {
  int64_t bytes = bytesOf(type, plan.piece);
  std::vector<int64_t> zero(plan.in.size(), 0);
  for (int64_t member = 0; member < p; ++member) {
    std::vector<int64_t> begin = plan.begin(member, &Move::to);
    std::vector<int64_t> extent = plan.extent(begin, plan.in);
    char *piece = packed + member * bytes;
    if (extent != plan.piece)
      std::memset(piece, 0, bytes);
    copyBox({extent, plan.in, begin, plan.piece, zero}, type, in, piece);
  }
}

static void unpack(const AllToAllPlan &plan, ElementType type, int64_t p,
                   const char *packed, void *out) {
  int64_t bytes = bytesOf(type, plan.piece);
  std::vector<int64_t> zero(plan.out.size(), 0);
  for (int64_t member = 0; member < p; ++member) {
    std::vector<int64_t> begin = plan.begin(member, &Move::from);
    std::vector<int64_t> extent = plan.extent(begin, plan.out);
    copyBox({extent, plan.piece, zero, plan.out, begin}, type,
            packed + member * bytes, out);
  }
}

extern "C" void shoal_rt_all_to_all(const int64_t *desc, const void *in,
                                    void *out, void * /*scratch*/) {
  const auto &call = lookUp<AllToAllCall>(desc);
  ElementType type = call.type;
  AllToAllPlan plan(call);
  int64_t p = shardCount(plan.axes);
  int64_t bytes = bytesOf(type, plan.piece);
  Timed timed(Activity::AllToAll, call.id,
              shoal::support::allToAllSize(plan.in, plan.cuts, p) *
                  bytesOf(type, {}));
  if (bytes == 0)
    return;
  if (p == 1)
    return unpack(plan, type, 1, static_cast<const char *>(in), out);

  const void *send = in;
  if (!plan.inOrder(plan.in, &Move::to)) {
    void *staging = Staging::get().at(Staging::Send, p * bytes);
    pack(plan, type, p, in, static_cast<char *>(staging));
    send = staging;
  }
  bool direct = plan.inOrder(plan.out, &Move::from);
  void *receive = direct ? out : Staging::get().at(Staging::Receive, p * bytes);
  BlockType piece(bytes);
  check(MPI_Alltoall(send, 1, piece, receive, 1, piece,
                     Device::get().group(call.mesh, plan.axes)),
        "MPI_Alltoall");
  if (!direct)
    unpack(plan, type, p, static_cast<const char *>(receive), out);
}
