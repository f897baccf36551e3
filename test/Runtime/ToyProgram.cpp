// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program as the compiler makes them, by hand, for 4 devices:
//   y[10,6] = 2 * x, sharded unevenly over its rows; total = sum of x;
//   count = n, replicated. TOY_FAULT makes it misbehave.

#include "shoal/Runtime/ABI.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#ifndef TOY_ARENA
#define TOY_ARENA "4096"
#endif

extern "C" const char shoal_program_metadata[] = R"({
"name": "toy", "devices": 4, "target": "cpu", "arena_bytes": )" TOY_ARENA R"(,
"meshes": [{"name": "mesh", "axes": [{"name": "x", "size": 4}],
            "device_ids": [0, 2, 1, 3]}],
"inputs": [
  {"name": "x", "dtype": "f32", "shape": [10, 6], "local_shape": [3, 6],
   "mesh": 0, "dims": [[{"axis": 0, "pre": 1, "size": 4}], []],
   "sharding": "<@mesh, [{\"x\"}, {}]>"},
  {"name": "n", "dtype": "i32", "shape": [], "local_shape": [], "mesh": 0,
   "dims": [], "sharding": "<@mesh, []>"}],
"outputs": [
  {"name": "y", "dtype": "f32", "shape": [10, 6], "local_shape": [3, 6],
   "mesh": 0, "dims": [[{"axis": 0, "pre": 1, "size": 4}], []],
   "sharding": "<@mesh, [{\"x\"}, {}]>"},
  {"name": "total", "dtype": "f32", "shape": [], "local_shape": [], "mesh": 0,
   "dims": [], "sharding": "<@mesh, []>"},
  {"name": "count", "dtype": "i32", "shape": [], "local_shape": [], "mesh": 0,
   "dims": [], "sharding": "<@mesh, []>"}],
"collectives": [{"id": 0, "kind": "all_reduce", "axes": "{\"x\"}", "bytes": 6,
                 "loc": "toy.mlir:1:1", "reason": "the sum of x"}]})";

/// Ends rank 2 as a crash would, while the others wait for it.
static void misbehave(int32_t rank) {
  const char *fault = std::getenv("TOY_FAULT");
  if (fault && !std::strcmp(fault, "die") && rank == 2)
    kill(getpid(), SIGKILL);
  if (fault && !std::strcmp(fault, "sleep"))
    sleep(60);
}

extern "C" void shoal_program_entry(void *const *inputs, void *const *outputs,
                                    void *arena) {
  static const int64_t axisIndex[] = {0, 1, 0, 1, 4};
  static const int64_t reduce[] = {0, SHOAL_RT_F32, 0, SHOAL_RT_SUM, 1, 1, 0, 1,
                                   4};
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
  shoal_rt_all_reduce(reduce, sum, outputs[1]);
  std::memcpy(outputs[2], inputs[1], 4);
}
