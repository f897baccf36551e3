// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command line of an executable.

#ifndef SHOAL_LIB_RUNTIME_RUN_OPTIONS_H
#define SHOAL_LIB_RUNTIME_RUN_OPTIONS_H

#include "../Program/Program.h"

#include <map>

namespace shoal::rt {

struct Options {
  bool help = false;
  bool describe = false;
  /// Input name -> file.
  std::map<std::string, std::string> inputs;
  std::optional<uint64_t> randomSeed;
  std::string outputDir;
  std::string statsFile;
  std::string censusFile;
  std::string traceFile;
  /// Where the process listens that answers host calls.
  std::string hostCallSocket;
  int64_t repeat = 1;
  int64_t warmup = 0;
  /// Shards in host memory come with each step: a target that works on those
  /// needs none of its own.
  bool callerHasShards = false;
  /// Of programs for the CPU.
  bool checkMemory = false;
  std::optional<int64_t> threads;
  /// In seconds.
  std::optional<int64_t> collectiveTimeout;
  /// Of programs for CUDA.
  bool cudaGraph = false;
};

/// Flags as "--flag value" or "--flag=value". Some are there for one target
/// alone.
Result<Options> parseOptions(int argc, char **argv, std::string_view target);

/// The number of a rank's threads, at least 1 and no more than any machine has.
Result<int64_t> parseThreads(std::string_view text);

/// Every input is given once or may be random; no unknown names.
Status checkInputNames(const Program &program, const Options &options);

/// The text of --help.
std::string helpText(const Program &program);

/// The text of --describe: the signature and the meshes.
std::string describeText(const Program &program);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_RUN_OPTIONS_H
