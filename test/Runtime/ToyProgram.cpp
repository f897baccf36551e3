// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program as the compiler makes them, by hand: see ToyMetadata.h.

#include "ToyMetadata.h"
#include "shoal/Runtime/ABI.h"

extern "C" const char shoal_program_metadata[] =
    TOY_METADATA(R"("target": "cpu")");

extern "C" void shoal_program_entry(void *const *inputs, void *const *outputs,
                                    void *arena, void * /*shared*/) {
  static const int64_t axisIndex[] = {0, 1, 0, 1, 4};
  // Collective 0, of f32 over mesh 0: the sum of one element over its axis.
  static const int64_t reduce[] = {0, SHOAL_RT_F32, 0, 0, 1, 1, 0, 1, 4};
  int32_t index = 0;
  shoal_rt_axis_index(axisIndex, &index);
  misbehave(index);
  const float *x = static_cast<const float *>(inputs[0]);
  float *y = static_cast<float *>(outputs[0]);
  float *sum = static_cast<float *>(arena);
  *sum = 0;
  for (int i = 0; i < 18; ++i) {
    y[i] = 2 * x[i];
    if (index * 3 + i / 6 < 10)
      *sum += x[i];
  }
  if (std::getenv("TOY_OVERRUN"))
    static_cast<char *>(arena)[4096 + 3] = 0;
  shoal_rt_all_reduce(reduce, sum, outputs[1], nullptr);
  std::memcpy(outputs[2], inputs[1], 4);
}
