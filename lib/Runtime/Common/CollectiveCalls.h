// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entry points of the collectives (Calls.h), by the class `Collective` of
// the target that includes this, once.

#ifndef SHOAL_LIB_RUNTIME_COMMON_COLLECTIVECALLS_H
#define SHOAL_LIB_RUNTIME_COMMON_COLLECTIVECALLS_H

#include "RunAllToAll.h"
#include "RunExchange.h"
#include "RunRaggedAllToAll.h"
#include "RunReduce.h"

namespace shoal::rt {

template <typename Call>
static Scratch scratchOf(const Call &call, void *memory) {
  return {memory, scratchBytes(call, Collective::onDevice)};
}

extern "C" void shoal_rt_all_gather(const int64_t *desc, const void *in,
                                    void *out, void *scratch) {
  const auto &call = lookUp<AllGatherCall>(desc);
  runAllGather<Collective>(call, in, out, scratchOf(call, scratch));
}

extern "C" void shoal_rt_all_reduce(const int64_t *desc, const void *in,
                                    void *out, void *scratch) {
  const auto &call = lookUp<AllReduceCall>(desc);
  runAllReduce<Collective>(call, in, out, scratchOf(call, scratch));
}

extern "C" void shoal_rt_reduce_scatter(const int64_t *desc, const void *in,
                                        void *out, void *scratch) {
  const auto &call = lookUp<ReduceScatterCall>(desc);
  runReduceScatter<Collective>(call, in, out, scratchOf(call, scratch));
}

extern "C" void shoal_rt_all_to_all(const int64_t *desc, const void *in,
                                    void *out, void *scratch) {
  const auto &call = lookUp<AllToAllCall>(desc);
  runAllToAll<Collective>(call, in, out, scratchOf(call, scratch));
}

extern "C" void shoal_rt_ragged_all_to_all(const int64_t *desc, const void *in,
                                           const void *inOffsets,
                                           const void *sendSizes,
                                           const void *outOffsets,
                                           const void *recvSizes, void *out,
                                           void *scratch) {
  const auto &call = lookUp<RaggedAllToAllCall>(desc);
  runRaggedAllToAll<Collective>(call, static_cast<const char *>(in),
                                {inOffsets, sendSizes, outOffsets, recvSizes},
                                static_cast<char *>(out),
                                scratchOf(call, scratch));
}

extern "C" void shoal_rt_collective_permute(const int64_t *desc, const void *in,
                                            void *out) {
  runPermute<Collective>(lookUp<CollectivePermuteCall>(desc), in, out);
}

extern "C" void shoal_rt_exchange(const int64_t *desc, const void *in,
                                  void *out, void *scratch) {
  const PlannedExchange &plan = findExchange(desc, Device::get());
  runExchange<Collective>(plan, in, out, scratchOf(plan.call, scratch));
}

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_COMMON_COLLECTIVECALLS_H
