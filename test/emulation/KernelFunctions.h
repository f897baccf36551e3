// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What lib/Runtime/CUDAKernels/Kernel.h has for GPUs, for the emulated device:
// a kernel is exported by the ABI of EmulatedKernel.h. Included by Kernel.h.

#ifndef SHOAL_TEST_EMULATION_KERNELFUNCTIONS_H
#define SHOAL_TEST_EMULATION_KERNELFUNCTIONS_H

#include "shoal/Target/Emulation/EmulatedKernel.h"

#include <bit>

#define SHOAL_DEVICE inline
#define SHOAL_UNROLL
#define SHOAL_NO_UNROLL

#define SHOAL_KERNEL(name, Parameters)                                         \
  static void name##Body(const Parameters &p);                                 \
  extern "C" void name(const shoal_emulated_thread *self,                      \
                       void *const *arguments) {                               \
    ::shoal::rt::emulated = self;                                              \
    name##Body(*static_cast<const Parameters *>(arguments[0]));                \
  }                                                                            \
  static void name##Body(const Parameters &p)

#define SHOAL_SHARED(type, name, count)                                        \
  type *name = static_cast<type *>(                                            \
      shoal_emu_shared(__COUNTER__, (count) * sizeof(type)))

namespace shoal::rt {

/// The thread that runs. Others may run at each barrier and shuffle, which
/// therefore set it again.
inline thread_local const shoal_emulated_thread *emulated = nullptr;

SHOAL_DEVICE int threadInBlock() { return emulated->thread[0]; }
SHOAL_DEVICE int64_t blockInGrid() { return emulated->block[0]; }
SHOAL_DEVICE int64_t blocksInGrid() { return emulated->grid_dim[0]; }

SHOAL_DEVICE void barrier() {
  const shoal_emulated_thread *self = emulated;
  shoal_emu_barrier();
  emulated = self;
}

SHOAL_DEVICE void warpBarrier() {
  const shoal_emulated_thread *self = emulated;
  shoal_emu_warp_barrier();
  emulated = self;
}

template <typename T>
SHOAL_DEVICE T shuffle(int mode, T value, int offset) {
  const shoal_emulated_thread *self = emulated;
  struct Words {
    uint32_t words[sizeof(T) / sizeof(uint32_t)];
  };
  auto parts = std::bit_cast<Words>(value);
  for (uint32_t &word : parts.words)
    word = shoal_emu_shuffle(mode, word, offset, warpLanes, nullptr);
  emulated = self;
  return std::bit_cast<T>(parts);
}
template <typename T>
SHOAL_DEVICE T shuffleUp(T value, int distance) {
  return shuffle(SHOAL_EMU_SHUFFLE_UP, value, distance);
}
template <typename T>
SHOAL_DEVICE T shuffleXor(T value, int mask) {
  return shuffle(SHOAL_EMU_SHUFFLE_XOR, value, mask);
}

} // namespace shoal::rt

#endif // SHOAL_TEST_EMULATION_KERNELFUNCTIONS_H
