// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Options.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "shoal/Compiler/Cache.h"
#include "shoal/Transforms/Options/PartitionFlags.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"

using namespace llvm;
using shoal::Emit;
using shoal::Target;

namespace {

// NOLINTBEGIN(bugprone-throwing-static-initialization): as LLVM's options are.
cl::OptionCategory category("shoalc options");
cl::OptionCategory debugging("Options to look inside (MLIR)",
                             "--help-hidden lists the others of MLIR.");
// NOLINTEND(bugprone-throwing-static-initialization)

/// Values by name, as those of LLVM; of an unknown one the error says which
/// there are and which is nearest.
template <typename Value>
struct NamedValues : cl::parser<Value> {
  using cl::parser<Value>::parser;

  bool parse(cl::Option &option, StringRef argument, StringRef given,
             Value &result) {
    if (this->findOption(given) < this->getNumOptions())
      return cl::parser<Value>::parse(option, argument, given, result);
    SmallVector<StringRef> known;
    for (unsigned i = 0; i < this->getNumOptions(); ++i)
      known.push_back(this->getOption(i));
    StringRef nearest =
        *llvm::min_element(known, [&](StringRef a, StringRef b) {
          return given.edit_distance(a) < given.edit_distance(b);
        });
    return option.error("expected one of " + llvm::join(known, ", ") +
                        " but got \"" + given + "\"; nearest is \"" + nearest +
                        "\"");
  }
};

struct CommandLine {
  cl::opt<std::string> input{cl::Positional, cl::Required, cl::desc("IN.mlir"),
                             cl::cat(category)};
  cl::opt<std::string> output{"o", cl::value_desc("file"), cl::cat(category),
                              cl::desc("The file to write; - for stdout where "
                                       "--emit writes text")};
  cl::opt<std::string> entry{
      "entry", cl::value_desc("name"), cl::cat(category),
      cl::desc("The function to compile (default: the only public one)")};
  cl::opt<Target, false, NamedValues<Target>> target{
      "target", cl::desc("What to compile for (default: cpu)"),
      cl::init(Target::CPU), cl::cat(category),
      cl::values(clEnumValN(Target::CPU, "cpu", "CPUs and MPI"),
                 clEnumValN(Target::CUDA, "cuda", "NVIDIA GPUs and NCCL"))};
  cl::list<std::string> cudaArch{
      "cuda-arch", cl::value_desc("sm_N,..."), cl::CommaSeparated,
      cl::cat(category),
      cl::desc("With --target=cuda: the GPUs that kernels are assembled for "
               "(default: sm_90); newer ones take PTX. emulated: a device for "
               "tests without a GPU")};
  cl::opt<bool> tf32{
      "tf32", cl::cat(category),
      cl::desc("With --target=cuda: compute matrix products of f32 in TF32, "
               "whose mantissa has 10 bits (default: in f32)")};
  cl::opt<double> overlapMemory{
      "overlap-memory", cl::value_desc("share"),
      cl::init(shoal::kOverlapMemory), cl::cat(category),
      cl::desc("With --target=cuda: how much more a device may hold so that "
               "collectives run beside kernels, in parts of all that it holds "
               "(default: 0.0625); 0: ops keep their order")};
  cl::opt<unsigned> optLevel{
      "opt-level", cl::value_desc("0|1|2|3"), cl::cat(category),
      cl::desc("How much LLVM optimises kernels of CPUs (default: as the "
               "environment's SHOAL_OPT_LEVEL says, or 3)")};
  cl::opt<std::string> checkFinite{
      "check-finite", cl::value_desc("all|nan"), cl::ValueOptional,
      cl::cat(category),
      cl::desc("End a step where an op makes NaN or, but with =nan, an "
               "infinity, and name it")};
  cl::opt<bool> checkReplicas{
      "check-replicas", cl::cat(category),
      cl::desc("End a step where devices that should hold the same value do "
               "not, and name it")};
  cl::opt<Emit, false, NamedValues<Emit>> emit{
      "emit", cl::desc("What to write (default: exe)"),
      cl::init(Emit::Executable), cl::cat(category),
      cl::values(
          clEnumValN(Emit::Executable, "exe", "An executable, for mpirun -n N"),
          clEnumValN(Emit::Shared, "shared",
                     "A shared library, for the package shoal and other "
                     "MPI programs"),
          clEnumValN(Emit::Spmd, "spmd", "The partitioned program, as MLIR"),
          clEnumValN(Emit::Report, "report",
                     "An HTML page: the program, its collectives and "
                     "memory"),
          clEnumValN(Emit::Summary, "summary",
                     "Collectives, arithmetic and memory, as text"))};
  shoal::PartitionFlags partition{category};
  cl::list<std::string> link{
      "link", cl::value_desc("file"), cl::cat(category),
      cl::desc("An object, archive or shared library with functions that "
               "custom_call names; may be repeated")};
  cl::opt<std::string> stats{
      "stats", cl::value_desc("file.json"), cl::cat(category),
      cl::desc("Write collectives, arithmetic and memory there, as JSON")};
  cl::opt<std::string> simulate{
      "simulate", cl::value_desc("machine.toml"), cl::cat(category),
      cl::desc("Print how long a step would take on the cluster of a machine "
               "file, and on what; -o is not needed")};
  cl::opt<std::string> simulateTrace{
      "simulate-trace", cl::value_desc("file.json"), cl::cat(category),
      cl::desc("With --simulate: write the timeline of that step there, for "
               "Perfetto")};
  cl::opt<double> imbalance{
      "imbalance", cl::init(1), cl::value_desc("factor"), cl::cat(category),
      cl::desc("With --simulate: rows whose number depends on data are so many "
               "times the mean on the most loaded device")};
  cl::opt<bool> plan{
      "plan", cl::cat(category),
      cl::desc("With --machine: print the fastest meshes and shardings, and "
               "write the program with the best of them, annotated, to -o")};
  cl::opt<int64_t> devices{
      "devices", cl::value_desc("N"), cl::cat(category),
      cl::desc("With --plan: for how many devices, where the program has no "
               "mesh")};
  cl::opt<std::string> fixMesh{
      "fix-mesh", cl::value_desc("2x8"), cl::cat(category),
      cl::desc("With --plan: the sizes of the mesh's axes (default: all ways "
               "to cut the devices)")};
  cl::opt<unsigned> maxAxes{
      "max-axes", cl::value_desc("1|2|3|4"), cl::init(2), cl::cat(category),
      cl::desc("With --plan: into how many axes the devices are cut at most "
               "(default: 2)")};
  cl::opt<std::string> saveTemps{
      "save-temps", cl::value_desc("folder"), cl::cat(category),
      cl::desc("Leave what is made on the way there")};
  cl::opt<bool> cache{
      "cache", cl::cat(category),
      cl::desc("Keep what is compiled, and take what was compiled before, in "
               "the folder that SHOAL_CACHE names (default: ~/.cache/shoal)")};
};

} // namespace

/// LLVM's own option --stats gives its name to ours.
static void releaseOption(StringRef name) {
  auto &options = cl::getRegisteredOptions();
  if (auto option = options.find(name); option != options.end())
    option->second->removeArgument();
}

static void registerMLIROptions() {
  mlir::registerAsmPrinterCLOptions();
  mlir::registerMLIRContextCLOptions();
  mlir::registerPassManagerCLOptions();
  mlir::registerDefaultTimingManagerCLOptions();
}

/// LLVM's libraries register options of every back end and pass when they are
/// loaded.
static void hideOptions() {
  auto &options = cl::getRegisteredOptions();
  for (StringRef name :
       {"mlir-timing", "mlir-print-ir-after-all", "mlir-print-ir-after-change",
        "mlir-print-ir-tree-dir", "mlir-pass-pipeline-crash-reproducer"})
    options.lookup(name)->addCategory(debugging);
  cl::HideUnrelatedOptions({&category, &debugging});
  for (auto &[name, option] : options)
    if (name.starts_with("mlir-") &&
        option->getOptionHiddenFlag() == cl::ReallyHidden)
      option->setHiddenFlag(cl::Hidden);
}

/// Whether MLIR or LLVM is asked for something that a cache does not know.
static bool looksInside() {
  return any_of(cl::getRegisteredOptions(), [](const auto &entry) {
    const cl::Option &option = *entry.second;
    return option.getNumOccurrences() > 0 &&
           !is_contained(option.Categories, &category);
  });
}

/// The folder lib beside the folder of this executable.
static std::string findRuntimeDirectory(const char *argv0) {
  static int anchor;
  SmallString<128> path(sys::fs::getMainExecutable(argv0, &anchor));
  sys::path::remove_filename(path);
  sys::path::remove_filename(path);
  sys::path::append(path, "lib");
  return path.str().str();
}

std::optional<shoal::DriverOptions> shoal::compiler::parseOptions(int argc,
                                                                  char **argv) {
  registerMLIROptions();
  releaseOption("stats");
  CommandLine line;
  hideOptions();
  cl::ParseCommandLineOptions(argc, argv, "Shoal compiler\n");
  if (line.plan)
    line.emit = Emit::Plan;
  for (const cl::Option *option : {static_cast<cl::Option *>(&line.devices),
                                   static_cast<cl::Option *>(&line.fixMesh),
                                   static_cast<cl::Option *>(&line.maxAxes)})
    if (!line.plan && option->getNumOccurrences() > 0) {
      WithColor::error(errs(), "shoalc")
          << option->ArgStr << ": expected --plan, too\n";
      return std::nullopt;
    }
  if ((line.emit == Emit::Executable || line.emit == Emit::Shared) &&
      (line.output == "-" || (line.output.empty() && line.simulate.empty()))) {
    WithColor::error(errs(), "shoalc")
        << "expected the file to write: -o FILE\n";
    return std::nullopt;
  }
  DriverOptions options;
  options.plan = {line.devices, line.maxAxes, line.fixMesh};
  options.inputPath = line.input;
  options.outputPath = line.output;
  options.statsPath = line.stats;
  options.machinePath = line.simulate;
  options.simulatedTracePath = line.simulateTrace;
  options.imbalance = line.imbalance;
  options.entry = line.entry;
  options.emit = line.emit;
  options.target = line.target;
  options.partition = line.partition.get();
  options.files.shared = line.emit == Emit::Shared;
  options.files.runtimeDirectory = findRuntimeDirectory(argv[0]);
  options.files.saveTempsDirectory = line.saveTemps;
  options.files.linkedFiles = line.link;
  if (line.optLevel.getNumOccurrences() > 0)
    options.files.optLevel = line.optLevel;
  if (!line.cudaArch.empty())
    options.cuda.archs = line.cudaArch;
  options.cuda.tf32 = line.tf32;
  options.cuda.overlapMemory = line.overlapMemory;
  options.checks = {line.checkFinite, line.checkReplicas};
  if (line.checkFinite.getNumOccurrences() > 0 && line.checkFinite.empty())
    options.checks.finite = "all";
  if (line.cache && !looksInside())
    options.cacheDirectory = findCacheDirectory();
  return options;
}
