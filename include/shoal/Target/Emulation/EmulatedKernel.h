/* Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The C ABI between kernels compiled for the emulated device and the emulator,
 * see docs/internals/CUDA.md. Plain C.
 *
 * A kernel image for the emulated device is a shared object of the host. It
 * exports each kernel under its name as a shoal_emulated_kernel, and takes the
 * functions below from the emulator.
 */

#ifndef SHOAL_TARGET_EMULATION_EMULATEDKERNEL_H
#define SHOAL_TARGET_EMULATION_EMULATEDKERNEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming,modernize-use-using): C. */

/* Where a thread stands: x, y, z. Constant while it runs. */
typedef struct shoal_emulated_thread {
  int32_t thread[3];
  int32_t block[3];
  int32_t block_dim[3];
  int32_t grid_dim[3];
  void *dynamic_shared; /* of the block, 128-byte aligned */
} shoal_emulated_thread;

/* Runs one thread of the kernel to its end. arguments[i] is the address of
 * parameter i, as for cudaLaunchKernel. */
typedef void (*shoal_emulated_kernel)(const shoal_emulated_thread *self,
                                      void *const *arguments);

/* __syncthreads(): all threads of the block must come to a barrier before any
 * goes on. A thread that has ended while others wait ends the program with an
 * error that names the kernel. */
void shoal_emu_barrier(void);

/* How a lane's partner is found, as in __shfl_sync and its kind. */
enum shoal_emulated_shuffle {
  SHOAL_EMU_SHUFFLE_XOR = 0,
  SHOAL_EMU_SHUFFLE_UP = 1,
  SHOAL_EMU_SHUFFLE_DOWN = 2,
  SHOAL_EMU_SHUFFLE_IDX = 3
};

/* A shuffle of all 32 lanes of the warp (thread x fastest, then y, z) in
 * segments of `width` lanes. A partner outside of the segment gives the own
 * value. *valid, if not null, says whether the partner was inside. */
uint32_t shoal_emu_shuffle(int32_t mode, uint32_t value, int32_t offset,
                           int32_t width, int32_t *valid);

/* __ballot_sync of all lanes that exist. */
uint32_t shoal_emu_ballot(int32_t predicate);

/* __syncwarp() */
void shoal_emu_warp_barrier(void);

/* Static shared memory of the block: the same 128-byte aligned address for each
 * thread that asks for the same `key`, a number of the kernel's choice. */
void *shoal_emu_shared(int64_t key, int64_t bytes);

/* NOLINTEND(readability-identifier-naming,modernize-use-using) */

#ifdef __cplusplus
}
#endif

#endif /* SHOAL_TARGET_EMULATION_EMULATEDKERNEL_H */
