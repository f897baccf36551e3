// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "EinsumArguments.h"
#include "../Program/Fatal.h"

namespace shoal::rt {

const PlannedEinsum &lookUpEinsum(const int64_t *desc, bool isDevice) {
  static PlanCache<PlannedEinsum> einsums;
  return einsums.get<EinsumCall>(desc, [&](const EinsumCall &call) {
    if (call.plan.isDevice != isDevice)
      fatal(std::string("einsum: planned for ") +
            (isDevice ? "a CPU" : "a device"));
    return PlannedEinsum{call, products::scratchOf(call)};
  });
}

EinsumBuffers takeBuffers(const EinsumCall &call, va_list arguments) {
  EinsumBuffers buffers;
  for (const void *&operand : buffers.operands)
    operand = va_arg(arguments, const void *);
  for (int64_t i = 0; i < call.numScales; ++i)
    buffers.scales[i] = va_arg(arguments, const void *);
  if (call.bias)
    buffers.bias = va_arg(arguments, const void *);
  buffers.out = va_arg(arguments, void *);
  buffers.scratch = va_arg(arguments, void *);
  return buffers;
}

bool hasEpilogue(const EinsumCall &call) {
  return call.numScales != 0 || call.bias ||
         call.activation != Activation::None;
}

} // namespace shoal::rt
