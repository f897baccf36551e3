// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../Run/Checks.h"
#include "../Program/Calls.h"
#include "Device.h"

using namespace shoal::rt;

extern "C" void shoal_rt_check(const int64_t *desc, const void *in) {
  Checks::get().check(lookUp<CheckCall>(desc), Device::get(),
                      static_cast<const char *>(in));
}

extern "C" void shoal_rt_iteration(const int64_t *desc) {
  Checks::get().count(lookUp<IterationCall>(desc));
}
