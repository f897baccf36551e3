// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Simulation.h"
#include "ForecastRows.h"
#include "mlir/IR/Diagnostics.h"
#include "shoal/Machine/ClusterFile.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace shoal;

void Simulation::prepare(ModuleOp module) {
  if (isOn())
    prepared = prepareStep(module);
}

void Simulation::take(func::FuncOp main) {
  if (isOn())
    step = extractStep(main, prepared);
}

FailureOr<llvm::json::Value> Simulation::run(MLIRContext &context,
                                             const LoweredProgram &program,
                                             std::string *rows) {
  // Of the command line.
  Location loc = UnknownLoc::get(&context);
  if (!isOn())
    return llvm::json::Value(nullptr);
  support::Result<Cluster> cluster = readCluster(machinePath);
  if (!cluster)
    return emitError(loc) << "simulate: " << cluster.error().message;
  int64_t devices = program.description.devices;
  support::Result<SimulatedStep> simulated = simulate(step, devices, *cluster);
  if (!simulated)
    return emitError(loc) << "simulate: " << simulated.error().message;
  Forecast forecast{std::move(*simulated), *cluster, devices,
                    program.peakBytes(), program.description.globalEinsumFlops};
  if (rows)
    *rows = llvm::formatv("{0}", llvm::json::Value(withRows(forecast)));
  else
    printForecast(forecast, llvm::outs());
  return llvm::json::Value(toJson(forecast));
}
