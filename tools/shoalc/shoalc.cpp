// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// shoalc: compiles a program to an executable that every device runs.

#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "shoal/Compiler/Driver.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"

using namespace llvm;
using shoal::Emit;
using shoal::Target;

namespace {

/// LLVM's own option --stats gives its name to ours.
void releaseOption(StringRef name) {
  auto &options = cl::getRegisteredOptions();
  if (auto option = options.find(name); option != options.end())
    option->second->removeArgument();
}

struct CommandLine {
  cl::opt<std::string> input{cl::Positional, cl::Required, cl::desc("IN.mlir")};
  cl::opt<std::string> output{"o", cl::value_desc("file"),
                              cl::desc("the file to write")};
  cl::opt<std::string> entry{
      "entry", cl::value_desc("name"),
      cl::desc("the function to compile; by default the one public function")};
  cl::opt<Target> target{
      "target", cl::desc("what to compile for"), cl::init(Target::CPU),
      cl::values(clEnumValN(Target::CPU, "cpu", "CPU and MPI"),
                 clEnumValN(Target::CUDA, "cuda", "CUDA and NCCL"))};
  cl::list<std::string> cudaArch{
      "cuda-arch", cl::value_desc("sm_90"), cl::CommaSeparated,
      cl::desc(
          "the GPUs that kernels are assembled for (sm_90); newer ones take "
          "PTX; emulated: a device for tests without a GPU")};
  cl::opt<bool> tf32{"tf32",
                     cl::desc("compute matrix products of f32 in TF32, whose "
                              "mantissa has ten bits, on GPUs")};
  cl::opt<Emit> emit{
      "emit", cl::desc("what to write"), cl::init(Emit::Executable),
      cl::values(clEnumValN(Emit::Executable, "exe", "an executable"),
                 clEnumValN(Emit::Shared, "shared", "a shared library"),
                 clEnumValN(Emit::Spmd, "spmd", "the partitioned program"),
                 clEnumValN(Emit::Report, "report",
                            "an HTML page: the program, its collectives and "
                            "memory"),
                 clEnumValN(Emit::Summary, "summary",
                            "collectives, arithmetic and memory, as text"))};
  cl::opt<int64_t> combineBytes{
      "combine-bytes", cl::value_desc("bytes"),
      cl::init(shoal::PartitionOptions().combineBytes),
      cl::desc("the largest message that small collectives are combined to; 0 "
               "combines none")};
  cl::opt<int64_t> maxReplicatedBytes{
      "max-replicated-bytes", cl::value_desc("bytes"),
      cl::init(shoal::PartitionOptions().maxReplicatedBytes),
      cl::desc("the largest split value that may be gathered whole on every "
               "device although no annotation asks for it (1 GiB); negative "
               "for any")};
  cl::list<std::string> allowReplicated{
      "allow-replicated", cl::value_desc("name"), cl::CommaSeparated,
      cl::desc("values that may be gathered whole however large")};
  cl::opt<int64_t> windowedEinsumBytes{
      "windowed-einsum-bytes", cl::value_desc("bytes"),
      cl::init(shoal::PartitionOptions().windowedEinsumBytes),
      cl::desc("the largest gathered operand of an einsum, or einsum before a "
               "reduce_scatter, to hold whole; larger ones become loops; 0 for "
               "no loops (default)")};
  cl::opt<bool> windowedEinsumOverlap{
      "windowed-einsum-overlap",
      cl::desc("such loops also where they hold no less, for targets that send "
               "in the background")};
  cl::list<std::string> link{
      "link", cl::value_desc("file"),
      cl::desc("an object, archive or shared library with functions that "
               "custom_call names")};
  cl::opt<std::string> stats{"stats", cl::value_desc("file.json"),
                             cl::desc("write static statistics as JSON")};
  cl::opt<std::string> saveTemps{
      "save-temps", cl::value_desc("folder"),
      cl::desc("leave what is made on the way here")};
};

/// The folder lib beside the folder of this executable.
std::string findRuntimeDirectory(const char *argv0) {
  static int anchor;
  SmallString<128> path(sys::fs::getMainExecutable(argv0, &anchor));
  sys::path::remove_filename(path);
  sys::path::remove_filename(path);
  sys::path::append(path, "lib");
  return path.str().str();
}

} // namespace

int main(int argc, char **argv) {
  InitLLVM initialize(argc, argv);
  mlir::registerAsmPrinterCLOptions();
  mlir::registerMLIRContextCLOptions();
  mlir::registerPassManagerCLOptions();
  mlir::registerDefaultTimingManagerCLOptions();
  releaseOption("stats");
  CommandLine line;
  cl::ParseCommandLineOptions(argc, argv, "Shoal compiler\n");
  auto fail = [](const Twine &message) {
    WithColor::error(errs(), "shoalc") << message << '\n';
    return 1;
  };
  if ((line.emit == Emit::Executable || line.emit == Emit::Shared) &&
      line.output.empty())
    return fail("expected the file to write: -o FILE");

  mlir::DialectRegistry registry;
  shoal::registerCompiler(registry);
  mlir::MLIRContext context(registry);
  // The source line says it; the op in generic form is for pass authors.
  context.printOpOnDiagnostic(false);
  shoal::DriverOptions options{line.input, line.output, line.stats,
                               line.entry, line.emit,   line.target,
                               {},         {},          {}};
  options.partition = {line.combineBytes, line.maxReplicatedBytes,
                       std::vector<std::string>(line.allowReplicated),
                       line.windowedEinsumBytes, line.windowedEinsumOverlap};
  options.files.shared = line.emit == Emit::Shared;
  options.files.runtimeDirectory = findRuntimeDirectory(argv[0]);
  options.files.saveTempsDirectory = line.saveTemps;
  options.files.linkedFiles = line.link;
  if (!line.cudaArch.empty())
    options.cuda.archs = line.cudaArch;
  options.cuda.tf32 = line.tf32;
  return failed(shoal::compile(context, options)) ? 1 : 0;
}
