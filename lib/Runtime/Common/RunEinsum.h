// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// An einsum as its plan says, the same on all machines.

#ifndef SHOAL_LIB_RUNTIME_COMMON_RUNEINSUM_H
#define SHOAL_LIB_RUNTIME_COMMON_RUNEINSUM_H

#include "EinsumArguments.h"
#include "Numeric.h"
#include "shoal/Products/PlanEinsum.h"

namespace shoal::rt {

/// What an einsum takes from a machine. `wide(i, bytes)` is memory for whole
/// tensors in another type: both operands and the result.
template <typename T>
concept EinsumMachine =
    requires(T machine, const EinsumCall &call, const EinsumBuffers &buffers,
             const void *in, void *out, size_t bytes, int64_t count,
             ElementType type) {
      { machine.wide(bytes, bytes) } -> std::same_as<void *>;
      machine.zero(out, bytes);
      machine.convert(count, type, in, type, out);
      machine.runTyped(call, buffers);
    };

/// Through whole converted copies, for the rare mixtures of types.
template <EinsumMachine Machine>
void runConverted(const EinsumCall &call, EinsumBuffers buffers,
                  Machine &machine) {
  const auto &[typesIn, typeOut] = call.types;
  ElementType compute = computeType(call.types);
  auto bytes = [&](size_t tensor) {
    return call.elements[tensor] * support::elementSize(compute);
  };
  for (size_t i = 0; i < 2; ++i) {
    if (typesIn[i] == compute)
      continue;
    void *wide = machine.wide(i, bytes(i));
    machine.convert(call.elements[i], typesIn[i], buffers.operands[i], compute,
                    wide);
    buffers.operands[i] = wide;
  }
  if (typeOut == compute)
    return machine.runTyped(call, buffers);
  void *out = buffers.out;
  buffers.out = machine.wide(2, bytes(2));
  machine.runTyped(call, buffers);
  machine.convert(call.elements[2], compute, buffers.out, typeOut, out);
}

template <EinsumMachine Machine>
void runEinsum(const EinsumCall &call, const EinsumBuffers &buffers,
               Machine &machine) {
  if (call.elements[2] == 0)
    return;
  if (!call.plan.gemm && !call.plan.loops)
    machine.zero(buffers.out,
                 call.elements[2] * support::elementSize(call.types.out));
  else if (call.plan.converts)
    runConverted(call, buffers, machine);
  else
    machine.runTyped(call, buffers);
}

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_COMMON_RUNEINSUM_H
