// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The metadata of the toy programs but for what depends on the target:
//   y[10,6] = 2 * x, sharded unevenly over its rows; total = sum of x;
//   count = n, replicated. TOY_FAULT makes them misbehave.

#ifndef SHOAL_TEST_RUNTIME_TOYMETADATA_H
#define SHOAL_TEST_RUNTIME_TOYMETADATA_H

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#ifndef TOY_ARENA
#define TOY_ARENA "4096"
#endif

#define TOY_METADATA(TARGET)                                                   \
  R"({
"name": "toy", "devices": 4, )" TARGET R"(, "arena_bytes": )" TOY_ARENA R"(,
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
                 "loc": "toy.mlir:1:1", "reason": "the sum of x"}]})"

/// Ends the device with index 2 as a crash would, while the others wait for it,
/// or lets them all sleep, or, with TOY_INDEX, the one with that index.
inline void misbehave(int64_t index) {
  const char *fault = std::getenv("TOY_FAULT");
  const char *only = std::getenv("TOY_INDEX");
  if (fault && !std::strcmp(fault, "die") && index == 2)
    kill(getpid(), SIGKILL);
  if (fault && !std::strcmp(fault, "sleep") &&
      (!only || std::atoi(only) == index))
    sleep(60);
}

#endif // SHOAL_TEST_RUNTIME_TOYMETADATA_H
