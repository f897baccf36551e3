// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../Run/HostCalls.h"

#include <cstdarg>

using namespace shoal::rt;

extern "C" void shoal_rt_host_call(const int64_t *desc, ...) {
  const auto &call = lookUp<HostCall>(desc);
  size_t count =
      call.operands.size() + (call.hasWhen ? 1 : 0) + call.results.size();
  std::vector<void *> buffers(count);
  va_list arguments;
  va_start(arguments, desc);
  for (void *&buffer : buffers)
    buffer = va_arg(arguments, void *);
  va_end(arguments);
  HostCalls::get().call(call, buffers.data());
}
