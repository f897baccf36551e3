// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// An einsum as its plan says, the same on all machines.

#ifndef SHOAL_LIB_RUNTIME_PRODUCTS_RUNEINSUM_H
#define SHOAL_LIB_RUNTIME_PRODUCTS_RUNEINSUM_H

#include "../Program/Numeric.h"
#include "EinsumArguments.h"
#include "shoal/Products/PlanEinsum.h"

namespace shoal::rt {

/// What an einsum takes from a machine.
template <typename T>
concept EinsumMachine =
    requires(T machine, const EinsumCall &call, const EinsumBuffers &buffers,
             const EinsumMemory &memory, const void *in, void *out,
             size_t bytes, int64_t count, ElementType type) {
      machine.zero(out, bytes);
      machine.convert(count, type, in, type, out);
      machine.runTyped(call, buffers, memory);
    };

/// Through whole converted copies, for the rare mixtures of types.
template <EinsumMachine Machine>
void runConverted(const EinsumCall &call, EinsumBuffers buffers,
                  const EinsumMemory &memory, Machine &machine) {
  const auto &[typesIn, typeOut] = call.types;
  ElementType compute = computeType(call.types);
  for (size_t i = 0; i < 2; ++i) {
    if (typesIn[i] == compute)
      continue;
    void *wide = memory.wide[i];
    machine.convert(call.elements[i], typesIn[i], buffers.operands[i], compute,
                    wide);
    buffers.operands[i] = wide;
  }
  if (typeOut == compute)
    return machine.runTyped(call, buffers, memory);
  void *out = buffers.out;
  buffers.out = memory.wide[2];
  machine.runTyped(call, buffers, memory);
  machine.convert(call.elements[2], compute, buffers.out, typeOut, out);
}

template <EinsumMachine Machine>
void runEinsum(const EinsumCall &call, const EinsumBuffers &buffers,
               const EinsumMemory &memory, Machine &machine) {
  if (call.elements[2] == 0)
    return;
  if (isZero(call.plan))
    machine.zero(buffers.out,
                 call.elements[2] * support::elementSize(call.types.out));
  else if (call.plan.converts)
    runConverted(call, buffers, memory, machine);
  else
    machine.runTyped(call, buffers, memory);
}

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_PRODUCTS_RUNEINSUM_H
