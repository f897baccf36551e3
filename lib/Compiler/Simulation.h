// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_COMPILER_SIMULATION_H
#define SHOAL_LIB_COMPILER_SIMULATION_H

#include "shoal/Simulation/Simulate.h"
#include "shoal/Target/Target.h"

namespace shoal {

/// Takes a program's step on its way through the compiler, where a machine file
/// is given, and forecasts it.
class Simulation {
public:
  explicit Simulation(std::string machinePath)
      : machinePath(std::move(machinePath)) {}

  void prepare(mlir::ModuleOp module);
  void take(mlir::func::FuncOp main);

  /// What `--stats` has of it; null where nothing is asked for. An error where
  /// there is no such cluster, or the program has no place on it. Not printed
  /// where `rows` is to have all of it, as JSON.
  mlir::FailureOr<llvm::json::Value> run(mlir::MLIRContext &context,
                                         const LoweredProgram &program,
                                         std::string *rows);

private:
  bool isOn() const { return !machinePath.empty(); }

  std::string machinePath;
  PreparedProgram prepared;
  Step step;
};

} // namespace shoal

#endif // SHOAL_LIB_COMPILER_SIMULATION_H
