// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels of lib/Runtime/CUDAKernels, which this library holds as fatbins.

#ifndef SHOAL_LIB_RUNTIME_CUDA_KERNELLIBRARY_H
#define SHOAL_LIB_RUNTIME_CUDA_KERNELLIBRARY_H

#include "../CUDAKernels/Parameters.h"
#include "../Program/Numeric.h"
#include "Launch.h"
#include "shoal/Support/ElementType.h"

#include <initializer_list>

namespace shoal::rt {

/// Fails if the GPU has no code in the images. Once, after the device is
/// opened; the first launch loads too, but ends the program by an error.
support::Status loadKernelLibrary();

/// Enqueues a kernel by its name; see Kernel.h for its shape. The parameters
/// are copied. Nothing if there are no blocks.
void launchKernel(cudaStream_t stream, const char *name, int64_t blocks,
                  const void *parameters, size_t parameterBytes,
                  std::initializer_list<Touched> touched);

template <typename Parameters>
void launch(cudaStream_t stream, const char *name, int64_t blocks,
            const Parameters &parameters,
            std::initializer_list<Touched> touched) {
  launchKernel(stream, name, blocks, &parameters, sizeof parameters, touched);
}

/// The names of a kernel that exists for each wide type, see Elements.h.
struct WideNames {
  const char *forFloat, *forDouble, *forInteger;

  const char *of(support::ElementType type) const {
    if (!support::isFloat(type))
      return forInteger;
    return type == support::ElementType::F64 ? forDouble : forFloat;
  }
};
#define SHOAL_WIDE_NAMES(prefix)                                               \
  ::shoal::rt::WideNames{prefix "_float", prefix "_double", prefix "_integer"}

/// Of one that exists for elements of 1, 2, 4, 8, some also of 16 bytes.
struct WidthNames {
  const char *for1, *for2, *for4, *for8, *for16;

  const char *of(int64_t width) const {
    return width == 16  ? for16
           : width == 8 ? for8
           : width == 4 ? for4
           : width == 2 ? for2
                        : for1;
  }
};
#define SHOAL_WIDTH_NAMES(prefix)                                              \
  ::shoal::rt::WidthNames{prefix "_1", prefix "_2", prefix "_4", prefix "_8",  \
                          prefix "_16"}

/// Blocks for a kernel that goes through `count` items in steps of its grid, a
/// thread (or, with `perBlock` below blockThreads, a group of threads) an item.
int64_t blocksFor(int64_t count, int64_t perBlock);

/// The nest as a kernel takes it; ends the program by an error if there are
/// more loops than a kernel takes, after they have been merged.
template <size_t N>
Nest<static_cast<int>(N)> nestOf(const Loops<N> &loops);

/// How many elements from the first to the last lie in operand `which` of a
/// nest without empty loops. Strides are not negative.
template <size_t N>
int64_t extentOf(const Loops<N> &loops, size_t which) {
  int64_t last = 0;
  for (const Loop<N> &loop : loops)
    last += (loop.size - 1) * loop.strides[which];
  return last + 1;
}

[[noreturn]] void tooManyLoops(size_t count);

template <size_t N>
Nest<static_cast<int>(N)> nestOf(const Loops<N> &loops) {
  if (loops.size() > maxNestLoops)
    tooManyLoops(loops.size());
  Nest<static_cast<int>(N)> nest{};
  nest.rank = static_cast<int32_t>(loops.size());
  nest.count = 1;
  for (size_t l = 0; l < loops.size(); ++l) {
    nest.count = nest.count * loops[l].size;
    nest.size[l] = loops[l].size;
    for (size_t i = 0; i < N; ++i)
      nest.strides[l][i] = loops[l].strides[i];
  }
  return nest;
}

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_KERNELLIBRARY_H
