// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks of a job that were not started alike would wait for each other for
// ever, or compute numbers that mean nothing.

#ifndef SHOAL_LIB_RUNTIME_RUN_SAMESTART_H
#define SHOAL_LIB_RUNTIME_RUN_SAMESTART_H

#include "../Job/World.h"
#include "Options.h"

namespace shoal::rt {

/// Fails on all ranks where one runs on another MPI than rank 0, or on a CPU of
/// another kind, on which sums in BLAS may differ in their last bits:
/// SHOAL_MIXED_CPUS=1 allows that. Collective, as those below.
Status checkSameMachines(World &world);

/// Fails on all ranks where one has another program than rank 0, or another
/// build of it.
Status checkSameProgram(World &world);

/// The flags that say what is computed and who takes part in it: not those of
/// places and threads, which may differ from machine to machine.
Status checkSameFlags(World &world, const Options &options);

/// The headers, sizes, first and last bytes of input files. Their paths may
/// differ, and ranks that do not have a file get their part from rank 0.
Status checkSameInputs(World &world, const Options &options);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_RUN_SAMESTART_H
