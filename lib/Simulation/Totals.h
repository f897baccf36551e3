// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Sums over the tasks of a simulated step, for all who tell of it.

#ifndef SHOAL_LIB_SIMULATION_TOTALS_H
#define SHOAL_LIB_SIMULATION_TOTALS_H

#include "shoal/Simulation/Simulate.h"

namespace shoal {

/// Of all runs.
double secondsOf(const SimulatedTask &task);

/// `all_to_all over {"ep"}`, or the op's name.
std::string kindOf(const Task &task);

/// Names with seconds, most first.
using Totals = std::vector<std::pair<std::string, double>>;

Totals sumByKind(const Forecast &forecast);
Totals sumByBound(const Forecast &forecast);
/// Of collectives, by the axes of their groups with their roles, and by the
/// outermost level that a group spans.
Totals sumByAxes(const Forecast &forecast);
Totals sumByLevel(const Forecast &forecast);

/// Model FLOPs utilisation: what the program of all devices multiplies, over
/// what they could. 0 where that is not known.
double utilisation(const Forecast &forecast);

/// Of the packing of collectives.
double packingSeconds(const Forecast &forecast);

} // namespace shoal

#endif // SHOAL_LIB_SIMULATION_TOTALS_H
