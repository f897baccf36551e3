// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What shoalc tells of a program that it has lowered.

#ifndef SHOAL_COMPILER_REPORT_H
#define SHOAL_COMPILER_REPORT_H

#include "shoal/Report/LiveBuffers.h"
#include "shoal/Simulation/Simulate.h"
#include "shoal/Target/CPU/CPUTarget.h"

namespace shoal {

/// The object of `--stats`: devices, certificate (cost, lower_bound, unit; null
/// without --certify), collectives, bytes_sent_per_device,
/// peak_bytes_per_device, arena_bytes_per_device, flops_per_device,
/// einsum_flops_ratio (of all products; null where the global number is
/// unknown), rematerialized (texts: what the backward pass computes again),
/// compile_seconds, collective_list, largest_buffers (as in the report's data).
llvm::json::Value toStatistics(const LoweredProgram &program,
                               llvm::ArrayRef<LiveBuffer> largest,
                               const StageSeconds &seconds);

/// Its member compile_seconds.
llvm::json::Object toStatistics(const StageSeconds &seconds);

/// The same for a reader: signature, collectives with bytes and reasons,
/// arithmetic, memory; where there is a forecast, with its seconds.
void printSummary(const LoweredProgram &program,
                  llvm::ArrayRef<LiveBuffer> largest, const Forecast *forecast,
                  const Machine &machine, llvm::raw_ostream &os);

} // namespace shoal

#endif // SHOAL_COMPILER_REPORT_H
