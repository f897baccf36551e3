// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The command line.

#ifndef SHOALC_OPTIONS_H
#define SHOALC_OPTIONS_H

#include "shoal/Compiler/Driver.h"
#include <optional>

namespace shoal::compiler {

/// Reads the command line; leaves the process on --help and on errors of its
/// form. Nothing, and an error on stderr, where something is missing. Pass
/// managers that are made later see what it says about them.
std::optional<DriverOptions> parseOptions(int argc, char **argv);

} // namespace shoal::compiler

#endif // SHOALC_OPTIONS_H
