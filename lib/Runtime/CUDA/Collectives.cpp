// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Collective.h"
// All other entry points, by this Collective.
#include "../Collectives/CollectiveCalls.inc"

using namespace shoal::rt;

extern "C" void shoal_rt_all_slice(const int64_t *desc, const void *in,
                                   void *out) {
  const auto &call = lookUp<AllSliceCall>(desc);
  setActivity("call", "all_slice");
  DeviceCopies device{Device::get().compute()};
  runAllSlice(device, call, Device::get(), in, out);
}
