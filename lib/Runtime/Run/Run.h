// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run of a program, whatever its target: shards in, steps, shards out.

#ifndef SHOAL_LIB_RUNTIME_RUN_RUN_H
#define SHOAL_LIB_RUNTIME_RUN_RUN_H

#include "Target.h"

namespace shoal::rt {

/// main() of every executable: runs shoal_program_metadata's program as the
/// command line asks and returns the exit code.
int runProgram(int argc, char **argv, Target &target);

/// Fails where so many ranks cannot be the program's devices.
Status checkWorld(int ranks, const Program &program);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_RUN_RUN_H
