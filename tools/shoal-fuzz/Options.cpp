// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Options.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"

namespace cl = llvm::cl;
using namespace shoal::fuzz;
using llvm::StringRef;

namespace {

// NOLINTBEGIN(bugprone-throwing-static-initialization): as LLVM's options are.
cl::OptionCategory category("shoal-fuzz options");
cl::opt<std::string>
    seeds("seeds", cl::value_desc("A..B"), cl::init("0..199"),
          cl::desc("The random programs to check, B included (default: "
                   "0..199)"),
          cl::cat(category));
cl::opt<unsigned> jobs("jobs", cl::value_desc("N"), cl::init(1),
                       cl::cat(category),
                       cl::desc("Processes at a time (default: 1)"));
cl::opt<unsigned>
    execute("execute", cl::value_desc("K"), cl::cat(category),
            cl::desc("Also compile and run every K-th (default: 0, none)"));
cl::opt<bool> gradients(
    "gradients", cl::cat(category),
    cl::desc("Check the programs' derivatives, these by differences, too"));
cl::opt<bool> emulated("emulated", cl::cat(category),
                       cl::desc("With --execute: executables for CUDA on the "
                                "emulated device, not for the CPU"));
cl::opt<std::string>
    launcher("launcher", cl::value_desc("command"), cl::cat(category),
             cl::init("mpirun --allow-run-as-root --oversubscribe -n"),
             cl::desc("With --execute: the command that starts ranks; their "
                      "number follows (default: mpirun --allow-run-as-root "
                      "--oversubscribe -n)"));
cl::opt<bool>
    shrink("shrink", cl::cat(category),
           cl::desc("Write a small program for each kind of failure"));
cl::opt<std::string> outputDir("output-dir", cl::value_desc("folder"),
                               cl::init("."), cl::cat(category),
                               cl::desc("Where --shrink writes (default: .)"));
cl::opt<unsigned> shrinkSeconds(
    "shrink-seconds", cl::value_desc("seconds"), cl::init(600),
    cl::cat(category),
    cl::desc("--shrink tries no smaller program after that (default: 600)"));
enum class Sizes { Small, Large };
cl::opt<Sizes> sizes(
    "sizes", cl::cat(category), cl::init(Sizes::Small),
    cl::desc("Of dimensions (default: small)"),
    cl::values(clEnumValN(Sizes::Small, "small", "up to 15"),
               clEnumValN(Sizes::Large, "large",
                          "on both sides of those that decide how a program "
                          "is run")));
cl::list<unsigned> ranks("ranks", cl::value_desc("N,..."), cl::CommaSeparated,
                         cl::cat(category),
                         cl::desc("Meshes have one of these numbers of devices "
                                  "(default: any up to 16)"));
cl::opt<bool> census(
    "census", cl::cat(category),
    cl::desc("With --execute: also print how many programs were below and "
             "above each size that decides how a program is run"));
cl::opt<unsigned>
    maxFailures("max-failures", cl::value_desc("N"),
                cl::desc("Stop behind N failures (default: 0, never)"),
                cl::cat(category));
cl::opt<unsigned>
    timeout("timeout", cl::value_desc("seconds"), cl::init(300),
            cl::cat(category),
            cl::desc("A stage that takes longer fails (default: 300)"));
cl::list<std::string>
    without("without", cl::value_desc("name,..."), cl::CommaSeparated,
            cl::cat(category),
            cl::desc("Leave out these generators of programs"));
cl::list<std::string> only("only", cl::value_desc("name,..."),
                           cl::CommaSeparated, cl::cat(category),
                           cl::desc("Draw from these generators alone"));
cl::list<std::string>
    mutate("mutate", cl::value_desc("path"), cl::cat(category),
           cl::desc("Instead of --seeds: change the programs of these files "
                    "and folders at random and expect results or errors; may "
                    "be repeated"));
cl::opt<bool> print("print", cl::cat(category),
                    cl::desc("Print the programs, check nothing"));
// NOLINTEND(bugprone-throwing-static-initialization)

std::string runtimeDirectory(const char *argv0) {
  static int anchor;
  llvm::SmallString<128> path(llvm::sys::fs::getMainExecutable(argv0, &anchor));
  llvm::sys::path::remove_filename(path);
  llvm::sys::path::append(path, "..", "lib");
  llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  return path.str().str();
}

bool parseSeeds(FuzzOptions &options) {
  auto [first, last] = StringRef(seeds).split("..");
  if (last.empty())
    last = first;
  return !first.getAsInteger(10, options.firstSeed) &&
         !last.getAsInteger(10, options.lastSeed) &&
         options.firstSeed <= options.lastSeed;
}

bool chooseGenerators(FuzzOptions &options) {
  using Names = std::vector<std::string>;
  std::optional<Generators> chosen = Generators::all();
  if (!only.empty())
    chosen = chosen->only(Names(only.begin(), only.end()));
  if (chosen)
    chosen = chosen->without(Names(without.begin(), without.end()));
  if (!chosen || chosen->empty()) {
    llvm::WithColor::error(llvm::errs(), "shoal-fuzz")
        << "--only, --without: there is a name that no generator has, or no "
           "generator is left\n";
    return false;
  }
  ProgramKind kind{gradients, sizes == Sizes::Large, {}};
  kind.devices.assign(ranks.begin(), ranks.end());
  if (llvm::any_of(kind.devices, [](int64_t n) { return n < 1 || n > 64; })) {
    llvm::WithColor::error(llvm::errs(), "shoal-fuzz")
        << "--ranks: expected numbers from 1 to 64\n";
    return false;
  }
  options.generators = chosen->ofKind(kind);
  return true;
}

} // namespace

std::optional<ToolOptions> shoal::fuzz::parseOptions(int argc, char **argv) {
  // The lowering to the CPU asks for them.
  mlir::registerPassManagerCLOptions();
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "Shoal differential fuzzer\n");
  ToolOptions result;
  FuzzOptions &options = result.fuzz;
  if (!parseSeeds(options)) {
    llvm::WithColor::error(llvm::errs(), "shoal-fuzz")
        << "--seeds=" << seeds << ": expected A..B with A <= B\n";
    return std::nullopt;
  }
  if (!chooseGenerators(options))
    return std::nullopt;
  options.executeEvery = execute;
  options.shrink = shrink;
  options.outputDirectory = outputDir;
  options.shrinkSeconds = shrinkSeconds;
  options.census = census;
  options.maxFailures = maxFailures;
  options.isolation.jobs = std::max(1u, unsigned(jobs));
  options.isolation.secondsPerItem = timeout;
  options.check.gradients = gradients;
  options.check.emulated = emulated;
  options.check.runtimeDirectory = runtimeDirectory(argv[0]);
  llvm::SmallVector<StringRef> words;
  StringRef(launcher).split(words, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  options.check.launcher.assign(words.begin(), words.end());

  result.mutate.assign(mutate.begin(), mutate.end());
  result.print = print;
  return result;
}
