// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks of a job that were not started alike would wait for each other for
// ever, or compute numbers that mean nothing.

#ifndef SHOAL_LIB_RUNTIME_COMMON_SAMESTART_H
#define SHOAL_LIB_RUNTIME_COMMON_SAMESTART_H

#include "Options.h"
#include "World.h"

namespace shoal::rt {

/// Fails on all ranks where one has another program than rank 0, or another
/// build of it. Collective, as those below.
Status checkSameProgram(World &world);

/// The flags that say what is computed and who takes part in it: not those of
/// places and threads, which may differ from machine to machine.
Status checkSameFlags(World &world, const Options &options);

/// The headers, sizes, first and last bytes of input files. Their paths may
/// differ.
Status checkSameInputs(World &world, const Options &options);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_COMMON_SAMESTART_H
