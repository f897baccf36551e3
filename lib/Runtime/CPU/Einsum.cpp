// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// shoal_rt_einsum: loops and matrix products as the descriptor plans them.

#include "../Products/RunEinsum.h"
#include "../Program/Recorder.h"
#include "RunProduct.h"
#include "StridedCopy.h"

namespace shoal::rt {

namespace {

struct CPUEinsum {
  static void zero(void *out, size_t bytes) {
    zeroBytes(out, static_cast<int64_t>(bytes));
  }

  static void convert(int64_t count, ElementType from, const void *in,
                      ElementType to, void *out) {
    copyStrided({{count, {1, 1}}}, from, in, to, out);
  }

  static void runTyped(const EinsumCall &call, const EinsumBuffers &buffers,
                       const EinsumMemory &memory) {
    runProduct(call.plan, typesInside(call.types, call.plan),
               buffers.operands[0], buffers.operands[1], buffers.out,
               memory.product);
  }
};

} // namespace

} // namespace shoal::rt

extern "C" void shoal_rt_einsum(const int64_t *desc, ...) {
  using namespace shoal::rt;
  Timed timed(Activity::Einsum);
  const PlannedEinsum &einsum = lookUpEinsum(desc, /*isDevice=*/false);
  const EinsumCall &call = einsum.call;
  if (hasEpilogue(call))
    fatal("einsum: bias, scales and activations are for CUDA");
  va_list arguments;
  va_start(arguments, desc);
  EinsumBuffers buffers = takeBuffers(call, arguments);
  va_end(arguments);
  CPUEinsum host;
  Scratch scratch(buffers.scratch, scratchBytes(call, /*onDevice=*/false));
  runEinsum(call, buffers,
            takeMemory(scratch, einsum.scratch, /*onDevice=*/false), host);
}
