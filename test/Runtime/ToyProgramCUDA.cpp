// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The toy program for the emulated device, see ToyMetadata.h. The factor is a
// constant at the end of the arena.

#include "ToyMetadata.h"
#include "shoal/Runtime/ABI.h"

extern "C" const char shoal_program_metadata[] =
    TOY_METADATA(R"("target": "cuda", "arch": "emulated",
"emulation": ")" TOY_EMULATION R"(", "kernels": ["toy_scale", "toy_sum"],
"constants_offset": 4092, "constants_bytes": 4)");

// The shared object of ToyKernels.c.
asm(".section .rodata\n.balign 64\n.global shoal_program_image\n"
    "shoal_program_image: .incbin \"" TOY_KERNELS "\"\n.previous\n");
extern "C" const char shoal_program_constants[] = {0, 0, 0, 0x40}; // 2.0f

extern "C" void shoal_program_entry(void *const *inputs, void *const *outputs,
                                    void *arena, void * /*shared*/) {
  static const int64_t axisIndex[] = {0, 1, 0, 1, 4};
  static const int64_t readIndex[] = {SHOAL_RT_I32};
  static const int64_t scale[] = {0, 3, 1, 1, 6,  1, 1, 0,  3,
                                  0, 4, 1, 0, 72, 1, 0, 72, 2};
  static const int64_t sum[] = {1, 1, 1, 1, 1,  1, 1, 0, 3,
                                0, 4, 1, 0, 72, 1, 0, 4, 2};
  // Collective 0, of f32 over mesh 0: the sum of one element over its axis.
  static const int64_t reduce[] = {0, SHOAL_RT_F32, 0, 0, 1, 1, 0, 1, 4};
  static const int64_t copy[] = {4}, wait[] = {0};
  char *memory = static_cast<char *>(arena);
  void *index = memory, *partial = memory + 64, *total = memory + 128,
       *factor = memory + 4092;
  shoal_rt_axis_index(axisIndex, static_cast<int32_t *>(index));
  // Without a value that the host waits for, a step can be a graph.
  if (!std::getenv("TOY_STATIC"))
    misbehave(shoal_rt_read_scalar(readIndex, index));
  shoal_rt_launch(sum, index, inputs[0], partial);
  shoal_rt_all_reduce(reduce, partial, total, nullptr);
  shoal_rt_launch(scale, factor, inputs[0], outputs[0]);
  shoal_rt_copy(copy, inputs[1], outputs[2]);
  shoal_rt_wait(wait);
  shoal_rt_copy(copy, total, outputs[1]);
}
