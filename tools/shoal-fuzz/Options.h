// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The command line.

#ifndef SHOAL_FUZZ_TOOL_OPTIONS_H
#define SHOAL_FUZZ_TOOL_OPTIONS_H

#include "shoal/Fuzz/Fuzzer.h"

namespace shoal::fuzz {

/// See --help for what each means.
struct ToolOptions {
  FuzzOptions fuzz;
  /// Files and folders whose programs are changed; empty for random programs.
  std::vector<std::string> mutate;
  bool print = false;
};

/// Reads the command line. Nothing, and an error on stderr, where it asks for
/// what there is not.
std::optional<ToolOptions> parseOptions(int argc, char **argv);

} // namespace shoal::fuzz

#endif // SHOAL_FUZZ_TOOL_OPTIONS_H
