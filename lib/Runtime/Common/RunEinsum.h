// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// An einsum from its descriptor to copies and products, the same on all
// machines.

#ifndef SHOAL_LIB_RUNTIME_COMMON_RUNEINSUM_H
#define SHOAL_LIB_RUNTIME_COMMON_RUNEINSUM_H

#include "PreparedEinsum.h"

namespace shoal::rt {

/// What an einsum takes from a machine. `wide(i, bytes)` is memory for whole
/// tensors in another type: both operands and the result.
template <typename T>
concept EinsumMachine =
    requires(T machine, const PreparedEinsum &prepared, const void *in,
             void *out, size_t bytes, int64_t count, ElementType type) {
      { machine.wide(bytes, bytes) } -> std::same_as<void *>;
      machine.zero(out, bytes);
      machine.convert(count, type, in, type, out);
      machine.runTyped(prepared, in, in, out);
    };

/// Through whole converted copies, for the rare mixtures of types.
template <EinsumMachine Machine>
void runConverted(const PreparedEinsum &prepared, const void *in0,
                  const void *in1, void *out, Machine &machine) {
  const EinsumSpec &spec = prepared.spec;
  auto [typesIn, typeOut] = *prepared.declaredTypes;
  ElementType compute = spec.typeIn;
  std::array<const void *, 2> operands = {in0, in1};
  for (size_t i = 0; i < spec.operands.size(); ++i) {
    if (typesIn[i] == compute)
      continue;
    int64_t count = elementsOf(spec, spec.operands[i]);
    void *wide = machine.wide(i, count * support::elementSize(compute));
    machine.convert(count, typesIn[i], operands[i], compute, wide);
    operands[i] = wide;
  }
  if (typeOut == compute)
    return machine.runTyped(prepared, operands[0], operands[1], out);
  int64_t count = prepared.resultElements;
  void *result = machine.wide(2, count * support::elementSize(compute));
  machine.runTyped(prepared, operands[0], operands[1], result);
  machine.convert(count, compute, result, typeOut, out);
}

template <EinsumMachine Machine>
void runEinsum(const PreparedEinsum &prepared, const void *in0, const void *in1,
               void *out, Machine &machine) {
  if (prepared.resultElements == 0)
    return;
  if (prepared.emptySum)
    machine.zero(out, prepared.resultElements *
                          support::elementSize(prepared.declaredResult()));
  else if (prepared.declaredTypes)
    runConverted(prepared, in0, in1, out, machine);
  else
    machine.runTyped(prepared, in0, in1, out);
}

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_COMMON_RUNEINSUM_H
