// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What single ops of a program take on a cluster while it is still lowered: the
// prices that its simulation has in the end.

#ifndef SHOAL_SIMULATION_OPPRICES_H
#define SHOAL_SIMULATION_OPPRICES_H

#include "shoal/Machine/Cluster.h"
#include "shoal/Machine/StepTime.h"
#include "shoal/Simulation/Step.h"

namespace shoal {

class OpPrices {
public:
  OpPrices(PreparedProgram program, Cluster cluster, bool onDevice)
      : program(std::move(program)), cluster(std::move(cluster)),
        onDevice(onDevice) {}

  /// Of a kernel, call or collective on buffers, with what it packs; nothing
  /// where its groups are not alike on the cluster. Of an op with regions that
  /// is no kernel what its buffers' bytes take.
  std::optional<Price> priceOf(mlir::Operation *op) const;

private:
  PreparedProgram program;
  Cluster cluster;
  bool onDevice;
};

} // namespace shoal

#endif // SHOAL_SIMULATION_OPPRICES_H
