// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a task of a step takes alone.

#ifndef SHOAL_LIB_SIMULATION_TASKPRICE_H
#define SHOAL_LIB_SIMULATION_TASKPRICE_H

#include "shoal/Simulation/Simulate.h"

namespace shoal {

/// Of a collective without its packing. An error where its groups are not
/// alike on the cluster.
support::Result<Price> priceTask(const Task &task, const Cluster &cluster,
                                 const SimulationOptions &options);

/// Of what is copied before a collective sends, or behind that.
Picoseconds packingOf(const CollectiveWork &work, const Chip &chip);

/// What the most loaded device has of a task, at most what there is room for.
double loadOf(const Task &task, const SimulationOptions &options);

} // namespace shoal

#endif // SHOAL_LIB_SIMULATION_TASKPRICE_H
