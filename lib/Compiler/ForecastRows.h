// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_COMPILER_FORECASTROWS_H
#define SHOAL_LIB_COMPILER_FORECASTROWS_H

#include "shoal/Simulation/Simulate.h"

namespace shoal {

/// What `--stats` has of a forecast with "rows", an object for each task in
/// program order: what it is, where it is written, what bounds it, and sizes.
llvm::json::Object withRows(const Forecast &forecast);

} // namespace shoal

#endif // SHOAL_LIB_COMPILER_FORECASTROWS_H
