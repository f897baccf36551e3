// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Transforms/Pipelines.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "shoal/CostModel/ProgramCost.h"
#include "shoal/Transforms/Autodiff/Passes.h"
#include "shoal/Transforms/Collectives/Passes.h"
#include "shoal/Transforms/Import/Passes.h"
#include "shoal/Transforms/Partition/Passes.h"
#include "shoal/Transforms/Propagation/Passes.h"
#include "shoal/Transforms/Rematerialize/Passes.h"
#include "shoal/Transforms/Sparse/Passes.h"
#include <functional>
#include <memory>

using namespace mlir;
using namespace shoal;

void shoal::buildImportPipeline(OpPassManager &pm) {
  // Shardings are chosen for one function: calls are the user's structure, not
  // a boundary of layouts.
  pm.addPass(createVerifyProgram());
  // Gradients are ordinary ops to all that follows.
  pm.addPass(createDifferentiate());
  // Behind it: a derivative may have a function's own rule for a call.
  pm.addPass(createInlinerPass());
  // What was inlined everywhere would be partitioned once more by itself.
  pm.addPass(createSymbolDCEPass());
  // One mesh, of which all annotations' axes are: what follows compares them.
  pm.addPass(createUnifyMeshes());
  // What was written op by op for one device becomes regions.
  pm.addPass(createFormManualRegions());
  // From here on arguments and results are like any others.
  pm.addPass(createExposeAddends());
  // Annotations before anything can fold them away with what they annotate.
  pm.addPass(createResolveAnnotations());
  // From here on no pass knows of softmax or gating.
  pm.addPass(createDecomposeComposites());
  // Equal masks of several composites become one value, whose sharding is then
  // chosen, and whose reshards are paid, once.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // By bounds that are one value now. What it leaves is as simple as before.
  pm.addPass(createSplitGroups());
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
  // By patterns of two or three collectives, which stand next to each other
  // now.
  pm.addPass(createSimplifyCollectives());
  // Of what the patterns have made some are equal.
  addToFunctions(createMergeCollectives());
  // Other passes know the collectives, not the loops.
  if (options.windowedEinsumBytes > 0)
    pm.addPass(createWindowEinsums(
        {options.windowedEinsumBytes, options.windowedEinsumOverlap}));
  if (!options.machineFile.empty())
    pm.addPass(createSplitExchanges({options.machineFile}));
  // Last, as what is packed is no longer found by others.
  pm.addPass(createCombineCollectives({options.combineBytes}));
  pm.addPass(createVerifyCollectives());
}

/// All that follows once shardings are chosen.
static void partitionAssigned(OpPassManager &pm,
                              const PartitionOptions &options) {
  pm.addPass(createVerifyAssignment());
  // Plan: every reshard is a chain of single collectives. Still global.
  pm.addPass(createPlanReshards());
  // Emit: local shapes and collectives.
  pm.addPass(createLocalize());
  // Device indices, iotas and masks of several ops are often equal.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // Masks go before anything is made of the einsums that read them.
  if (!options.denseOneHots)
    pm.addNestedPass<func::FuncOp>(
        createSparsifyEinsums({options.oneHotGain, /*explain=*/false}));
  // What each reshard could not know of the others.
  buildCollectivesPipeline(pm, options);
}

/// What a device sends of a program whose shardings are chosen.
static FailureOr<int64_t> countSentBytes(ModuleOp program,
                                         const PartitionOptions &options) {
  PassManager passes(program.getContext());
  partitionAssigned(passes, options);
  if (failed(passes.run(program)))
    return failure();
  int64_t sent = 0;
  for (const CollectiveCost &collective : listCollectives(program))
    sent += collective.runs * collective.bytes;
  return sent;
}

void shoal::buildDevicePipeline(OpPassManager &pm,
                                const PartitionOptions &options,
                                MachineKind machine) {
  buildImportPipeline(pm);
  // Decide: every op gets its split, reshards stand where operand and op
  // disagree. Still a global program.
  shoal::AssignOptions assign;
  assign.maxReplicatedBytes = options.maxReplicatedBytes;
  assign.allowReplicated.assign(options.allowReplicated.begin(),
                                options.allowReplicated.end());
  assign.machine = machine;
  assign.flopsPerByte = options.flopsPerByte;
  assign.machineFile = options.machineFile;
  assign.repeatMargin = options.repeatMargin;
  if (options.quickSearch)
    assign.effort = SearchEffort::Quick;
  assign.lint = options.lint;
  assign.removals = options.removals;
  assign.certify = options.certify;
  assign.warnRepeatedWork = options.warnRepeatedWork;
  assign.maxRepeatedWork = options.maxRepeatedWork;
  assign.denseOneHots = options.denseOneHots;
  assign.oneHotGain = options.oneHotGain;
  pm.addPass(createAssign(std::move(assign), [options](ModuleOp program) {
    return countSentBytes(program, options);
  }));
  partitionAssigned(pm, options);
}

void shoal::buildPartitionPipeline(OpPassManager &pm,
                                   const PartitionOptions &options,
                                   MachineKind machine) {
  buildDevicePipeline(pm, options, machine);
  // Last: sizes are those of a device, masks are gone, and all that sends has
  // its final place.
  shoal::RematerializeOptions rematerialize;
  rematerialize.remat = options.remat;
  rematerialize.rematCollectives = options.rematCollectives;
  rematerialize.memoryLimit = options.memoryLimit;
  rematerialize.machine = machine;
  pm.addPass(createRematerialize(rematerialize));
}

namespace {
/// PartitionOptions as text behind a pipeline's name.
class PartitionCommandLine : public PassPipelineOptions<PartitionCommandLine> {
public:
  PartitionCommandLine() {
    for (const PartitionOption &option : partitionOptions())
      std::visit([&](auto member) { add(option, member); }, option.member);
  }

  PartitionOptions get() const {
    PartitionOptions options;
    for (const auto &read : readers)
      read(options);
    return options;
  }

private:
  template <typename T>
  void add(const PartitionOption &option, T PartitionOptions::*member) {
    auto line = std::make_shared<Option<T>>(
        *this, option.flag, llvm::cl::desc(option.help),
        llvm::cl::value_desc(option.placeholder),
        llvm::cl::init(PartitionOptions().*member));
    readers.push_back([line, member](PartitionOptions &options) {
      options.*member = line->getValue();
    });
  }

  using Names = std::vector<std::string>;
  void add(const PartitionOption &option, Names PartitionOptions::*member) {
    auto line = std::make_shared<ListOption<std::string>>(
        *this, option.flag, llvm::cl::desc(option.help),
        llvm::cl::value_desc(option.placeholder));
    readers.push_back([line, member](PartitionOptions &options) {
      options.*member = Names(line->begin(), line->end());
    });
  }

  /// Each holds an option and copies its value to the member.
  std::vector<std::function<void(PartitionOptions &)>> readers;
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
