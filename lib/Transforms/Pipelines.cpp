// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Transforms/Pipelines.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "shoal/Transforms/Collectives/Passes.h"
#include "shoal/Transforms/Import/Passes.h"
#include "shoal/Transforms/Partition/Passes.h"
#include "shoal/Transforms/Propagation/Passes.h"

using namespace mlir;
using namespace shoal;

void shoal::buildImportPipeline(OpPassManager &pm) {
  // Shardings are chosen for one function: calls are the user's structure, not
  // a boundary of layouts.
  pm.addPass(createInlinerPass());
  pm.addPass(createSymbolDCEPass());
  pm.addPass(createUnifyMeshes());
  // What was written op by op for one device becomes regions.
  pm.addPass(createFormManualRegions());
  // Annotations before anything can fold them away with what they annotate.
  pm.addPass(createResolveAnnotations());
  // From here on no pass knows of softmax or gating.
  pm.addPass(createDecomposeComposites());
  // Equal masks of several composites become one value, whose sharding is then
  // chosen, and whose reshards are paid, once.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void shoal::buildCollectivesPipeline(OpPassManager &pm,
                                     const PartitionOptions &options) {
  auto addToFunctions = [&](std::unique_ptr<Pass> pass) {
    pm.addNestedPass<func::FuncOp>(std::move(pass));
  };
  // Merging first: a collective with several users is better known as one.
  addToFunctions(createMergeCollectives());
  // What loops do once is then next to what stands around them.
  addToFunctions(createHoistCollectives());
  pm.addPass(createSimplifyCollectives());
  addToFunctions(createMergeCollectives());
  // Other passes know the collectives, not the loops.
  if (options.windowedEinsumBytes > 0)
    pm.addPass(createWindowEinsums(
        {options.windowedEinsumBytes, options.windowedEinsumOverlap}));
  // Last, as what is packed is no longer found by others.
  addToFunctions(createCombineCollectives({options.combineBytes}));
  pm.addPass(createVerifyCollectives());
}

void shoal::buildPartitionPipeline(OpPassManager &pm,
                                   const PartitionOptions &options) {
  buildImportPipeline(pm);
  // Decide: every op gets its split, reshards stand where operand and op
  // disagree. Still a global program.
  shoal::AssignOptions assign;
  assign.maxReplicatedBytes = options.maxReplicatedBytes;
  assign.allowReplicated.assign(options.allowReplicated.begin(),
                                options.allowReplicated.end());
  pm.addPass(createAssign(std::move(assign)));
  pm.addPass(createVerifyAssignment());
  // Plan: every reshard is a chain of single collectives. Still global.
  pm.addPass(createPlanReshards());
  // Emit: local shapes and collectives.
  pm.addPass(createLocalize());
  // Device indices, iotas and masks of several ops are often equal.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // What each reshard could not know of the others.
  buildCollectivesPipeline(pm, options);
}

namespace {
/// PartitionOptions as text behind a pipeline's name.
struct PartitionCommandLine : PassPipelineOptions<PartitionCommandLine> {
  Option<int64_t> combineBytes{
      *this, "combine-bytes",
      llvm::cl::desc("The largest message that small collectives are combined "
                     "to; 0 combines none"),
      llvm::cl::init(PartitionOptions().combineBytes)};

  Option<int64_t> maxReplicatedBytes{
      *this, "max-replicated-bytes",
      llvm::cl::desc("The largest split value that may be gathered whole on "
                     "every device although no annotation asks for it; "
                     "negative for any"),
      llvm::cl::init(PartitionOptions().maxReplicatedBytes)};
  ListOption<std::string> allowReplicated{
      *this, "allow-replicated",
      llvm::cl::desc("Names of values that may be gathered whole")};
  Option<int64_t> windowedEinsumBytes{
      *this, "windowed-einsum-bytes",
      llvm::cl::desc("The largest value between an einsum and a collective to "
                     "hold whole; larger ones become loops; 0 for no loops"),
      llvm::cl::init(PartitionOptions().windowedEinsumBytes)};
  Option<bool> windowedEinsumOverlap{
      *this, "windowed-einsum-overlap",
      llvm::cl::desc("Such loops also where they hold no less"),
      llvm::cl::init(PartitionOptions().windowedEinsumOverlap)};

  PartitionOptions get() const {
    return {combineBytes, maxReplicatedBytes,
            std::vector<std::string>(allowReplicated.begin(),
                                     allowReplicated.end()),
            windowedEinsumBytes, windowedEinsumOverlap};
  }
};
} // namespace

void shoal::registerShoalPipelines() {
  PassPipelineRegistration<>(
      "shoal-import", "One function of primitive ops, annotations by axes",
      buildImportPipeline);
  PassPipelineRegistration<PartitionCommandLine>(
      "shoal-partition", "From a global program to the program of one device",
      [](OpPassManager &pm, const PartitionCommandLine &line) {
        buildPartitionPipeline(pm, line.get());
      });
  PassPipelineRegistration<PartitionCommandLine>(
      "shoal-optimize-collectives",
      "Fewer and cheaper collectives in the program of one device",
      [](OpPassManager &pm, const PartitionCommandLine &line) {
        buildCollectivesPipeline(pm, line.get());
      });
}
