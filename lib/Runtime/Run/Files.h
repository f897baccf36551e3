// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shards between a device and the files of a run.

#ifndef SHOAL_LIB_RUNTIME_RUN_FILES_H
#define SHOAL_LIB_RUNTIME_RUN_FILES_H

#include "Target.h"

namespace shoal::rt {

/// Collective. Reads this rank's shards from the files, or makes them up from
/// the seed. Rows past the end of an uneven dimension are zero. A rank that
/// does not have a file, as one of another machine, gets its shard from rank 0.
/// Returns the same on all ranks.
Status loadInputs(World &world, const Program &program, const Options &options,
                  Target &target);

/// Makes the folder of the results; fails if nothing can be written there, or
/// not a file of a result's name.
Status prepareOutputs(const Program &program, const std::string &dir);

/// Collective: rank 0 makes the files, each rank writes what it owns, or sends
/// it to rank 0 where it does not see them. They have temporary names until all
/// are whole; a failure leaves what was there.
Status storeOutputs(World &world, const Program &program,
                    const Options &options, Target &target);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_RUN_FILES_H
