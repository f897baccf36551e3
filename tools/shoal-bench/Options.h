// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_BENCH_OPTIONS_H
#define SHOAL_BENCH_OPTIONS_H

#include <string>

namespace shoal::bench {

struct Options {
  std::string output, name;
  int passes;
  /// That an experiment may take in a pass.
  double seconds;
  /// What was measured, beside what the file says of it.
  bool table;
};

Options parseOptions(int argc, char **argv);

} // namespace shoal::bench

#endif // SHOAL_BENCH_OPTIONS_H
