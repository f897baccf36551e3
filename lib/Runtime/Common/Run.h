// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run of a program, whatever its target: shards in, steps, shards out.

#ifndef SHOAL_LIB_RUNTIME_COMMON_RUN_H
#define SHOAL_LIB_RUNTIME_COMMON_RUN_H

#include "Memory.h"
#include "Options.h"
#include "Program.h"
#include "World.h"

namespace shoal::rt {

/// This device's shards, in the order of the metadata.
struct Shards {
  std::vector<Buffer> buffers;

  std::vector<void *> pointers() const;
};

/// Fails, naming the sum, if the memory is not there.
Status allocateAll(World &world, const Program &program, Shards &inputs,
                   Shards &outputs, Buffer &arena);

/// Reads this rank's shards from the files, or makes them up from the seed.
/// Rows past the end of an uneven dimension are zero.
Status loadInputs(const Program &program, const Options &options, int rank,
                  Shards &inputs);

/// Makes the folder of the results; fails if nothing can be written there.
Status prepareOutputDir(const std::string &dir);

/// Collective: rank 0 makes the files, each rank writes what it owns.
void storeOutputs(World &world, const Program &program, const Options &options,
                  const Shards &outputs);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_COMMON_RUN_H
