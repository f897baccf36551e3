// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The report of a compiled program: one HTML page that needs nothing else, with
// the data of it as a JSON object. Neither grows with the number of devices.

#ifndef SHOAL_REPORT_REPORT_H
#define SHOAL_REPORT_REPORT_H

#include "shoal/Report/LiveBuffers.h"
#include "shoal/Simulation/Simulate.h"

namespace shoal {

/// The ops of a per-device program, as the report lists them: `ops`, `values`,
/// `layouts`, `files` and `op_of_collective`, as docs/guide/Report.md describes
/// them. Numbers the ops (see LocationNotes.h), so that what is known after the
/// lowering finds its op here.
llvm::json::Object listProgram(mlir::ModuleOp module);

/// The report's data: `listing` of the program with signature, collectives and
/// memory; with the times of a forecast, where there is one.
llvm::json::Object makeReport(const LoweredProgram &program,
                              llvm::StringRef target, const Machine &machine,
                              llvm::json::Object listing,
                              llvm::ArrayRef<LiveBuffer> largest,
                              const Forecast *forecast = nullptr);

/// Writes the page that shows the data.
void writePage(llvm::json::Object report, llvm::raw_ostream &os);

} // namespace shoal

#endif // SHOAL_REPORT_REPORT_H
