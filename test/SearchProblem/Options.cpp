// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Options.h"
#include "shoal/Machine/ClusterFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"

using namespace shoal;
namespace cl = llvm::cl;

namespace {
struct Line {
  cl::OptionCategory category{"Options"};
  cl::list<std::string> inputs{cl::Positional, cl::cat(category),
                               cl::desc("<programs.mlir>...")};
  cl::opt<unsigned> random{
      "random", cl::cat(category), cl::value_desc("n"),
      cl::desc("As many programs that the unit tests draw, over one axis of 4 "
               "devices and, in turn, two of 2")};
  cl::opt<unsigned> seed{"seed", cl::cat(category), cl::value_desc("n"),
                         cl::desc("With --random: where it begins")};
  cl::opt<unsigned> ops{
      "ops", cl::cat(category), cl::value_desc("n"), cl::init(3),
      cl::desc("With --random: ops of a program that compute")};
  cl::opt<bool> enumerate{
      "enumerate", cl::cat(category),
      cl::desc("With --random: also say what the cheapest of all plans costs")};
  cl::list<int64_t> mesh{
      "mesh", cl::cat(category), cl::value_desc("size,..."), cl::CommaSeparated,
      cl::desc("Sizes of the axes, of a program without a mesh")};
  cl::opt<std::string> machine{
      "machine", cl::cat(category), cl::value_desc("machine.toml"),
      cl::desc("Prices are nanoseconds on this machine")};
  cl::opt<double> flopsPerByte{"flops-per-byte", cl::cat(category),
                               cl::value_desc("n"),
                               cl::desc("As shoalc's, without a machine")};
  cl::opt<double> memoryShare{
      "memory-share", cl::cat(category), cl::value_desc("share"),
      cl::desc("As --plan searches: a device may hold this share of what it "
               "holds by the plan without a limit")};
  cl::opt<bool> certify{"certify", cl::cat(category),
                        cl::desc("Also say what no plan costs less than")};
  cl::opt<bool> costs{
      "costs", cl::cat(category),
      cl::desc("Say what the plan costs, not what it was chosen from")};
  cl::list<std::string> without{
      "without", cl::cat(category), cl::value_desc("name"),
      cl::desc("A source of moves or a start that the search does without, by "
               "its name in Moves.cpp or ProblemSearch.cpp")};
};
} // namespace

[[noreturn]] static void giveUp(llvm::StringRef why) {
  llvm::errs() << "shoal-search-problem: " << why << '\n';
  std::exit(1);
}

SearchProblemOptions shoal::parseSearchProblemOptions(int argc, char **argv) {
  Line line;
  cl::HideUnrelatedOptions(line.category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "What the search for shardings chooses among, and what it chose: a line "
      "of JSON for each function\n");
  if (line.inputs.empty() == (line.random == 0))
    giveUp("expected programs, or --random");
  SearchProblemOptions options;
  options.inputs.assign(line.inputs.begin(), line.inputs.end());
  options.numRandom = line.random;
  options.seed = line.seed;
  options.randomOps = line.ops;
  options.enumerate = line.enumerate;
  options.mesh.assign(line.mesh.begin(), line.mesh.end());
  options.flopsPerByte = line.flopsPerByte;
  options.memoryShare = line.memoryShare;
  options.certify = line.certify;
  options.costsAlone = line.costs;
  options.without.assign(line.without.begin(), line.without.end());
  if (!line.machine.empty()) {
    support::Result<Cluster> cluster = readCluster(line.machine);
    if (!cluster)
      giveUp(cluster.error().message);
    options.cluster = std::move(*cluster);
  }
  if (options.memoryShare > 0 && !options.cluster)
    giveUp("--memory-share: expected --machine, too");
  return options;
}
