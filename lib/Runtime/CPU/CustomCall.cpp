// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../Program/CustomCallSpec.h"

#include <cstdarg>

using namespace shoal::rt;

extern "C" void shoal_rt_custom_call(const int64_t *desc,
                                     shoal_custom_function function, ...) {
  CustomCallSpec spec(desc);
  va_list arguments;
  va_start(arguments, function);
  for (shoal_tensor &tensor : spec.tensors)
    tensor.data = va_arg(arguments, void *);
  va_end(arguments);
  spec.call(function);
}
