// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_COMPILER_SIMULATION_H
#define SHOAL_LIB_COMPILER_SIMULATION_H

#include "shoal/Compiler/Driver.h"
#include "shoal/Conversion/Memory/Passes.h"
#include "shoal/Simulation/OpPrices.h"
#include "shoal/Simulation/Simulate.h"

namespace shoal {

/// An error where what is asked of a simulation cannot be.
mlir::LogicalResult verifySimulation(const DriverOptions &options,
                                     mlir::Location loc);

/// Takes a program's step on its way through the compiler, where a machine file
/// is given, and forecasts it.
class Simulation {
public:
  explicit Simulation(const DriverOptions &options) : options(options) {}

  void prepare(mlir::ModuleOp module);
  void take(mlir::func::FuncOp main);

  /// What an op of the prepared program takes on the machine whose seconds the
  /// program is made by: that of its shardings, else that of the simulation.
  /// Nothing without one.
  std::optional<OpDuration> durationOf(mlir::Operation *op) const;

  /// Prints the forecast and writes its trace. Null where nothing is asked for.
  /// An error where there is no such cluster, or the program has no place on
  /// it. It lives as long as this does.
  mlir::FailureOr<const Forecast *> run(mlir::MLIRContext &context,
                                        const LoweredProgram &program);

private:
  bool isOn() const { return !options.machinePath.empty(); }
  support::Status forecastStep(const LoweredProgram &program);

  const DriverOptions &options;
  PreparedProgram prepared;
  std::optional<OpPrices> prices;
  Step step;
  Cluster cluster;
  std::optional<Forecast> forecast;
};

} // namespace shoal

#endif // SHOAL_LIB_COMPILER_SIMULATION_H
