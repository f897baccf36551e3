// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The last collectives of each rank, in a file.

#ifndef SHOAL_LIB_RUNTIME_JOB_FLIGHTRECORDER_H
#define SHOAL_LIB_RUNTIME_JOB_FLIGHTRECORDER_H

#include "../Program/Program.h"
#include "Progress.h"

namespace shoal::rt {

/// Writes a JSON object for each collective, a line each, to the file that
/// SHOAL_FLIGHT_RECORDER names; nothing where it names none.
void writeFlightRecord(std::span<const RankProgress> ranks,
                       const Program &program);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_JOB_FLIGHTRECORDER_H
