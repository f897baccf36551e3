// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The command line.

#ifndef SHOAL_RUN_OPTIONS_H
#define SHOAL_RUN_OPTIONS_H

#include "shoal/Transforms/Pipelines.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shoal::run {

/// See --help for what each means.
struct Options {
  std::string program, entry;
  std::vector<std::string> inputs;
  std::optional<uint64_t> randomInputs;
  std::string outputDir;
  int64_t devices = 0;
  bool compare = false;
  std::optional<double> tolerance;
  bool print = false, printShards = false;
  PartitionOptions partition;
  std::vector<std::string> customCallLibraries;

  /// Whether results are asked for beyond what each device holds.
  bool needsWholeResults() const {
    return print || compare || !outputDir.empty();
  }
};

/// Reads the command line; leaves the process on --help and on errors.
Options parseOptions(int argc, char **argv);

} // namespace shoal::run

#endif // SHOAL_RUN_OPTIONS_H
