// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Checks random programs: every stage and every way to run them must agree.

#include "Options.h"

#include "mlir/Transforms/Passes.h"
#include "shoal/Conversion/Passes.h"
#include "shoal/Fuzz/Mutation.h"
#include "shoal/InitShoal.h"
#include "shoal/Reference/Models.h"
#include "shoal/Reference/Tensor.h"
#include "shoal/Target/CPU/CPUTarget.h"
#include "shoal/Target/CUDA/CUDATarget.h"
#include "llvm/Support/WithColor.h"

using namespace shoal::fuzz;

static bool fuzzWhatIsAsked(mlir::MLIRContext &context,
                            const ToolOptions &options) {
  if (options.mutate.empty())
    return fuzz(context, options.fuzz);
  Corpus corpus;
  for (const std::string &path : options.mutate)
    if (!corpus.addPath(path))
      llvm::WithColor::warning(llvm::errs(), "shoal-fuzz")
          << path << ": neither a folder nor a .mlir or .md file\n";
  return !corpus.empty() && fuzzMutations(context, corpus, options.fuzz);
}

int main(int argc, char **argv) {
  std::optional<ToolOptions> options = parseOptions(argc, argv);
  if (!options)
    return 2;
  shoal::reference::keepFreedMemory();
  mlir::DialectRegistry registry;
  shoal::registerCUDATarget(registry);
  shoal::registerShoalDialects(registry);
  shoal::reference::registerReferenceModels(registry);
  mlir::registerTransformsPasses();
  shoal::registerShoalPasses();
  shoal::registerShoalConversionPasses();
  shoal::registerCPUPipelines();
  shoal::registerCUDAPipelines();
  // Threads do not survive the forks.
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  if (!options->print)
    return fuzzWhatIsAsked(context, *options) ? 0 : 1;
  for (uint64_t seed = options->fuzz.firstSeed; seed <= options->fuzz.lastSeed;
       ++seed) {
    Program program = makeProgram(context, options->fuzz.generators, seed);
    llvm::outs() << "// seed " << seed << "\n";
    program.module.get()->print(llvm::outs());
  }
  return 0;
}
