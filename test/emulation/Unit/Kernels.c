/* Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Kernels for the tests of the emulated device, as a compiler would make them.
 */

#include "shoal/Target/Emulation/EmulatedKernel.h"

typedef const shoal_emulated_thread *Self;
typedef void *const *Arguments;

static int32_t threadNumber(Self self) {
  return self->thread[0] +
         self->block_dim[0] *
             (self->thread[1] + self->block_dim[1] * self->thread[2]);
}

static int32_t blockNumber(Self self) {
  return self->block[0] +
         self->grid_dim[0] *
             (self->block[1] + self->grid_dim[1] * self->block[2]);
}

static int32_t threadsPerBlock(Self self) {
  return self->block_dim[0] * self->block_dim[1] * self->block_dim[2];
}

/* out[number of the thread in the grid] += the same number + 1. */
void number_threads(Self self, Arguments arguments) {
  int32_t *out = *(int32_t **)arguments[0];
  int32_t number =
      blockNumber(self) * threadsPerBlock(self) + threadNumber(self);
  out[number] += number + 1;
}

/* out[block] = the sum of the block's part of in, by a tree in shared memory.
 */
void sum_blocks(Self self, Arguments arguments) {
  const float *in = *(const float **)arguments[0];
  float *out = *(float **)arguments[1];
  int32_t size = threadsPerBlock(self), i = threadNumber(self);
  float *partial = shoal_emu_shared(7, size * 4);
  partial[i] = in[blockNumber(self) * size + i];
  shoal_emu_barrier();
  for (int32_t half = size / 2; half > 0; half /= 2) {
    if (i < half)
      partial[i] += partial[i + half];
    shoal_emu_barrier();
  }
  if (i == 0)
    out[blockNumber(self)] = partial[0];
}

/* out[i] = in[i - 1] of the block, cyclic, through dynamic shared memory.
 * Without a barrier if *skip. */
void rotate(Self self, Arguments arguments) {
  const int32_t *in = *(const int32_t **)arguments[0];
  int32_t *out = *(int32_t **)arguments[1];
  int32_t skip = *(const int32_t *)arguments[2];
  int32_t size = threadsPerBlock(self), i = threadNumber(self);
  int32_t *tile = self->dynamic_shared;
  tile[i] = in[i];
  if (!skip)
    shoal_emu_barrier();
  out[i] = tile[(i + size - 1) % size];
}

/* One shuffle: value[i], offset[i], mode and width for all. */
void shuffle_once(Self self, Arguments arguments) {
  const uint32_t *value = *(const uint32_t **)arguments[0];
  const int32_t *offset = *(const int32_t **)arguments[1];
  uint32_t *out = *(uint32_t **)arguments[2];
  int32_t *valid = *(int32_t **)arguments[3];
  int32_t mode = *(const int32_t *)arguments[4];
  int32_t width = *(const int32_t *)arguments[5];
  int32_t i = threadNumber(self);
  out[i] = shoal_emu_shuffle(mode, value[i], offset[i], width, &valid[i]);
}

/* out[i] = ballot of (in[i] odd), after a barrier of the warp. */
void vote(Self self, Arguments arguments) {
  const int32_t *in = *(const int32_t **)arguments[0];
  uint32_t *out = *(uint32_t **)arguments[1];
  int32_t i = threadNumber(self);
  shoal_emu_warp_barrier();
  out[i] = shoal_emu_ballot(in[i] & 1);
}

/* Thread 5 leaves before the barrier. */
void leave_early(Self self, Arguments arguments) {
  if (threadNumber(self) != 5)
    shoal_emu_barrier();
}

/* Lane 3 goes to the block's barrier, the others shuffle. */
void diverge(Self self, Arguments arguments) {
  if (threadNumber(self) == 3)
    shoal_emu_barrier();
  else
    shoal_emu_shuffle(SHOAL_EMU_SHUFFLE_XOR, 1, 1, 32, 0);
}

/* Half of the warp shuffles, the other half votes. */
void mix(Self self, Arguments arguments) {
  if (threadNumber(self) < 16)
    shoal_emu_ballot(1);
  else
    shoal_emu_shuffle(SHOAL_EMU_SHUFFLE_XOR, 1, 1, 32, 0);
}

/* Static shared memory of `bytes`; out = the bytes of the first one. */
void share(Self self, Arguments arguments) {
  unsigned char *out = *(unsigned char **)arguments[0];
  int64_t bytes = *(const int64_t *)arguments[1];
  const unsigned char *memory = shoal_emu_shared(1, bytes);
  if (threadNumber(self) == 0)
    out[0] = memory[0];
}

/* A stack of many frames, to see that it is as deep as threads need. */
static int64_t descend(int32_t depth) {
  volatile int64_t frame[16] = {depth};
  return depth == 0 ? 0 : frame[0] + descend(depth - 1);
}
void go_deep(Self self, Arguments arguments) {
  int64_t *out = *(int64_t **)arguments[0];
  shoal_emu_barrier();
  out[threadNumber(self)] = descend(100);
}
