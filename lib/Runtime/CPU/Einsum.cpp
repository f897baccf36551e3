// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// shoal_rt_einsum: from a descriptor to copies, loops and matrix products.

#include "../Common/PreparedEinsum.h"
#include "../Common/Recorder.h"
#include "BinaryEinsum.h"
#include "LoopProduct.h"
#include "StridedCopy.h"

#include <cstring>

namespace shoal::rt {

static void runUnary(const PreparedEinsum &prepared, const void *in,
                     void *out) {
  const EinsumSpec &spec = prepared.spec;
  if (prepared.isCopy)
    copyStrided(prepared.copy, spec.typeIn, in, spec.typeOut, out);
  else
    runLoops(prepared.sum, in, oneOf(spec.typeIn), out);
}

static void runTyped(const PreparedEinsum &prepared, const void *in0,
                     const void *in1, void *out) {
  if (prepared.spec.operands.size() == 1)
    runUnary(prepared, in0, out);
  else
    runBinary(prepared.product, in0, in1, out);
}

/// Through whole converted copies, for the rare mixtures of types.
static void runConverted(const PreparedEinsum &prepared, const void *in0,
                         const void *in1, void *out) {
  const EinsumSpec &spec = prepared.spec;
  auto [typeIn, typeOut] = *prepared.declaredTypes;
  ElementType compute = spec.typeIn;
  std::array<const void *, 2> operands = {in0, in1};
  constexpr Staging::Slot slots[] = {Staging::Wide0, Staging::Wide1};
  for (size_t i = 0; i < spec.operands.size() && typeIn != compute; ++i) {
    int64_t count = elementsOf(spec, spec.operands[i]);
    void *wide =
        Staging::get().at(slots[i], count * support::elementSize(compute));
    copyStrided({{count, {1, 1}}}, typeIn, operands[i], compute, wide);
    operands[i] = wide;
  }
  if (typeOut == compute)
    return runTyped(prepared, operands[0], operands[1], out);
  int64_t count = prepared.resultElements;
  void *result = Staging::get().at(Staging::WideResult,
                                   count * support::elementSize(compute));
  runTyped(prepared, operands[0], operands[1], result);
  copyStrided({{count, {1, 1}}}, compute, result, typeOut, out);
}

static void runEinsum(const PreparedEinsum &prepared, const void *in0,
                      const void *in1, void *out) {
  if (prepared.resultElements == 0)
    return;
  const EinsumSpec &spec = prepared.spec;
  ElementType declared =
      prepared.declaredTypes ? prepared.declaredTypes->second : spec.typeOut;
  if (prepared.emptySum)
    std::memset(out, 0,
                prepared.resultElements * support::elementSize(declared));
  else if (prepared.declaredTypes)
    runConverted(prepared, in0, in1, out);
  else
    runTyped(prepared, in0, in1, out);
}

} // namespace shoal::rt

extern "C" void shoal_rt_einsum(const int64_t *desc, const void *in0,
                                const void *in1OrOut, void *out) {
  using namespace shoal::rt;
  Timed timed(Activity::Einsum);
  const PreparedEinsum &prepared = lookUpEinsum(desc, hostModel);
  if (prepared.spec.operands.size() == 1)
    runEinsum(prepared, in0, nullptr, const_cast<void *>(in1OrOut));
  else
    runEinsum(prepared, in0, in1OrOut, out);
}
