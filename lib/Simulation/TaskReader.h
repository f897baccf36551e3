// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// One lowered op as a task of a step.

#ifndef SHOAL_LIB_SIMULATION_TASKREADER_H
#define SHOAL_LIB_SIMULATION_TASKREADER_H

#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Simulation/Step.h"

namespace shoal {

class TaskReader {
public:
  TaskReader(mlir::ModuleOp module, const PreparedProgram &program,
             bool onDevice)
      : program(program), meshes(module), onDevice(onDevice) {}

  /// A collective's is not async: who waits for it is not looked at.
  Task read(mlir::Operation *op) const;

private:
  /// Null of what does not communicate.
  const std::pair<CollectiveCost, CollectiveWork> *
  findCollective(rt::RuntimeCallOpInterface call) const;

  const PreparedProgram &program;
  rt::ProgramMeshes meshes;
  bool onDevice;
};

} // namespace shoal

#endif // SHOAL_LIB_SIMULATION_TASKREADER_H
