// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Options.h"
#include "llvm/Support/CommandLine.h"

#include <cstdlib>

namespace cl = llvm::cl;

namespace shoal::bench {

Options parseOptions(int argc, char **argv) {
  cl::OptionCategory category("shoal-bench options");
  cl::opt<std::string> output("o", cl::value_desc("file"), cl::cat(category),
                              cl::desc("Where the machine file is written "
                                       "(default: -, standard output)"),
                              cl::init("-"));
  cl::opt<std::string> name("name", cl::value_desc("text"), cl::cat(category),
                            cl::desc("What the machine is called (box)"),
                            cl::init("box"));
  cl::opt<int> passes(
      "passes", cl::value_desc("number"), cl::cat(category), cl::init(3),
      cl::desc("How often everything is measured; the least counts (3)"));
  cl::opt<double> seconds(
      "seconds", cl::value_desc("number"), cl::cat(category), cl::init(0.04),
      cl::desc("How long each of some hundred experiments may take in a pass "
               "(0.04); long ones are run three times all the same"));
  cl::opt<bool> table("table", cl::cat(category),
                      cl::desc("Print what was measured of products, and what "
                               "the file says of it, on standard error"));
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "Measures this machine: mpirun -n RANKS shoal-bench -o box.toml\n"
      "with as many ranks and threads as programs will run with. The file says "
      "how long programs take, to shoalc --simulate=box.toml.\n");
  bool isWrong = passes < 1 && passes.error("expected at least 1");
  // Also of what is no number.
  if (!(seconds > 0 && seconds < 1e6))
    isWrong = seconds.error("expected a time over 0, in seconds");
  if (isWrong)
    std::exit(1);
  return {output, name, passes, seconds, table};
}

} // namespace shoal::bench
