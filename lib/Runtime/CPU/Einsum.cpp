// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// shoal_rt_einsum: from a descriptor to copies, loops and matrix products.

#include "../Common/Recorder.h"
#include "../Common/RunEinsum.h"
#include "BinaryEinsum.h"
#include "LoopProduct.h"
#include "StridedCopy.h"

#include <cstring>

namespace shoal::rt {

namespace {

struct HostEinsum {
  static void *wide(size_t which, size_t bytes) {
    constexpr Staging::Slot slots[] = {Staging::Wide0, Staging::Wide1,
                                       Staging::WideResult};
    return Staging::get().at(slots[which], bytes);
  }

  static void zero(void *out, size_t bytes) { std::memset(out, 0, bytes); }

  static void convert(int64_t count, ElementType from, const void *in,
                      ElementType to, void *out) {
    copyStrided({{count, {1, 1}}}, from, in, to, out);
  }

  static void runTyped(const PreparedEinsum &prepared, const void *in0,
                       const void *in1, void *out) {
    const EinsumSpec &spec = prepared.spec;
    if (spec.operands.size() == 2)
      runBinary(prepared.product, in0, in1, out);
    else if (prepared.isCopy)
      copyStrided(prepared.copy, spec.typeIn, in0, spec.typeOut, out);
    else
      runLoops(prepared.sum, in0, oneOf(spec.typeIn), out);
  }
};

} // namespace

} // namespace shoal::rt

extern "C" void shoal_rt_einsum(const int64_t *desc, ...) {
  using namespace shoal::rt;
  Timed timed(Activity::Einsum);
  const PreparedEinsum &prepared = lookUpEinsum(desc, hostModel);
  if (prepared.hasEpilogue())
    fatal("einsum: bias, scales and activations are for CUDA");
  va_list arguments;
  va_start(arguments, desc);
  EinsumBuffers buffers = takeBuffers(prepared.call, arguments);
  va_end(arguments);
  HostEinsum host;
  runEinsum(prepared, buffers.operands[0], buffers.operands[1], buffers.out,
            host);
}
