// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Collective.h"
// All other entry points, by this Collective.
#include "../Collectives/CollectiveCalls.inc"

using namespace shoal::rt;

extern "C" void shoal_rt_axis_index(const int64_t *desc, int32_t *out) {
  const auto &call = lookUp<AxisIndexCall>(desc);
  *out = static_cast<int32_t>(Device::get().indexOver(call.mesh, call.axes));
}

extern "C" void shoal_rt_all_slice(const int64_t *desc, const void *in,
                                   void *out) {
  const auto &call = lookUp<AllSliceCall>(desc);
  CPUCopies host;
  runAllSlice(host, call, Device::get(), in, out);
}
