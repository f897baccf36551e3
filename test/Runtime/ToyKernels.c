/* Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The kernels of ToyProgramCUDA.cpp, as a compiler would make them for the
 * emulated device.
 */

#include "shoal/Target/Emulation/EmulatedKernel.h"

/* y[i] = factor[0] * x[i], an element for each thread. */
void toy_scale(const shoal_emulated_thread *self, void *const *arguments) {
  const float *factor = *(const float **)arguments[0];
  const float *x = *(const float **)arguments[1];
  float *y = *(float **)arguments[2];
  int32_t i = self->block[0] * self->block_dim[0] + self->thread[0];
  y[i] = *factor * x[i];
}

/* sum[0] = the sum of the rows of x that exist: 3 rows of 6 for each index, of
 * 10 in all. */
void toy_sum(const shoal_emulated_thread *self, void *const *arguments) {
  const int32_t *index = *(const int32_t **)arguments[0];
  const float *x = *(const float **)arguments[1];
  float *sum = *(float **)arguments[2];
  float total = 0;
  for (int i = 0; i < 18; ++i)
    if (*index * 3 + i / 6 < 10)
      total += x[i];
  *sum = total;
}
