// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Problems.h"
#include "Sharding/AllPlans.h"
#include "Transforms/Propagation/Copies.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "shoal/Dialect/Shoal/IR/MeshAnalysis.h"
#include "shoal/InitShoal.h"
#include "shoal/Sharding/MeshSearch.h"
#include "shoal/Transforms/Pipelines.h"

using namespace mlir;
using namespace shoal;

/// As --shoal-assign does before it searches.
static FailureOr<AssignmentProblem> problemOf(func::FuncOp function,
                                              const Mesh &mesh) {
  Copies copies(function);
  OneHotCosts costs = priceOneHots(function, PartitionOptions().oneHotGain,
                                   machineOf(MachineKind::CPU));
  FailureOr<ExtractedProblem> extracted = extractProblem(function, mesh, costs);
  if (failed(extracted))
    return failure();
  for (unsigned op = 0; op < extracted->ops.size(); ++op)
    extracted->problem.ops[op].label = extracted->describe(op);
  return std::move(extracted->problem);
}

bool shoal::forProblemsOf(const std::string &path,
                          const SearchProblemOptions &options,
                          llvm::function_ref<void(AssignmentProblem)> visit) {
  DialectRegistry registry;
  registerShoalDialects(registry);
  MLIRContext context(registry);
  auto module = parseSourceFile<ModuleOp>(path, &context);
  if (!module)
    return false;
  PassManager passes(&context);
  buildImportPipeline(passes);
  if (failed(passes.run(*module)))
    return false;
  FailureOr<Mesh> own = collectMesh(*module);
  if (failed(own))
    return false;
  for (auto function : module->getOps<func::FuncOp>()) {
    if (!isGlobalProgram(function))
      continue;
    FailureOr<AssignmentProblem> problem = problemOf(function, *own);
    if (failed(problem))
      return false;
    if (!options.mesh.empty()) {
      problem->mesh = meshOfShape(options.mesh);
      problem->deviceOrders.clear();
    }
    visit(std::move(*problem));
  }
  return true;
}

void shoal::forRandomProblems(
    const SearchProblemOptions &options,
    llvm::function_ref<void(AssignmentProblem)> visit) {
  for (unsigned i = 0; i < options.numRandom; ++i) {
    std::mt19937 random(options.seed + i);
    Mesh mesh = i % 2 ? testing::makeMesh({{"x", 2}, {"y", 2}})
                      : testing::makeMesh({{"x", 4}});
    visit(testing::randomProgram(random, mesh, options.randomOps));
  }
}
