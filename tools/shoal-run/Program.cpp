// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Program.h"
#include "Error.h"

#include "mlir/Pass/PassManager.h"
#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"
#include "shoal/Reference/Interpreter.h"
#include "shoal/Transforms/Autodiff/Passes.h"
#include "shoal/Transforms/Import/Passes.h"
#include "shoal/Transforms/Pipelines.h"

using namespace mlir;
using namespace shoal::reference;

namespace shoal::run {

/// Why no function can run; of the one of this name, where there is one.
static LogicalResult reportNoEntry(ModuleOp module, StringRef name) {
  auto functions = module.getOps<func::FuncOp>();
  if (functions.empty())
    return error("the program has no function");
  func::FuncOp found = *functions.begin();
  if (auto named = module.lookupSymbol<func::FuncOp>(name))
    found = named;
  return found.emitError("@")
         << found.getName()
         << (found.isExternal()
                 ? " is declared without a body"
                 : " is private: choose it with --entry to run it");
}

FailureOr<func::FuncOp> findEntry(ModuleOp module, StringRef name) {
  SmallVector<func::FuncOp> candidates;
  std::string names;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal() || (name.empty() && function.isPrivate()))
      continue;
    candidates.push_back(function);
    names += (names.empty() ? "@" : ", @") + function.getName().str();
  }
  StringRef wanted = name.empty() ? "main" : name;
  for (func::FuncOp function : candidates)
    if (function.getName() == wanted)
      return function;
  if (name.empty() && candidates.size() == 1)
    return candidates.front();
  if (candidates.empty())
    return reportNoEntry(module, name);
  if (name.empty())
    return error("the module has several functions: choose one of " + names +
                 " with --entry");
  return error("no function @" + name + ", the module has " + names);
}

/// A copy of the module of `entry` after the passes that `build` adds.
static FailureOr<Program> transform(func::FuncOp entry,
                                    function_ref<void(OpPassManager &)> build) {
  Program program;
  program.module = entry->getParentOfType<ModuleOp>().clone();
  PassManager passes(entry.getContext(), "builtin.module");
  build(passes);
  if (failed(passes.run(*program.module)))
    return failure();
  program.entry = program.module->lookupSymbol<func::FuncOp>(entry.getName());
  FailureOr<Signature> signature = Signature::read(program.entry);
  if (failed(signature))
    return failure();
  program.signature = *signature;
  return program;
}

FailureOr<Program> Program::readGlobal(func::FuncOp entry) {
  return transform(entry, [](OpPassManager &passes) {
    passes.addPass(createDifferentiate());
    passes.addPass(createFormManualRegions());
    passes.addPass(createExposeAddends());
    passes.addPass(createDecomposeComposites());
  });
}

static LogicalResult verifyDevices(func::FuncOp entry, int64_t devices) {
  auto meshes = entry->getParentOfType<ModuleOp>().getOps<MeshOp>();
  if (meshes.empty())
    return error("the program has no shoal.mesh to partition it for");
  MeshOp mesh = *meshes.begin();
  int64_t expected = mesh.getMesh().getNumDevices();
  if (devices == 0 || devices == expected)
    return success();
  return error("--devices=" + llvm::Twine(devices) + ": mesh @" +
               mesh.getSymName() + " has " + llvm::Twine(expected) +
               " devices");
}

FailureOr<Program> Program::partition(func::FuncOp entry, int64_t devices,
                                      const PartitionOptions &options) {
  if (failed(verifyDevices(entry, devices)))
    return failure();
  if (entry->hasAttr(kSpmdAttr)) // runs as it is
    return transform(entry, [](OpPassManager &) {});
  return transform(entry, [&](OpPassManager &passes) {
    buildPartitionPipeline(passes, options);
  });
}

FailureOr<GridValues> execute(const Program &program, ArrayRef<Tensor> inputs) {
  const Signature &signature = program.signature;
  GridValues arguments;
  for (auto [port, input] : llvm::zip_equal(signature.arguments, inputs))
    arguments.push_back(splitArgument(port, input));
  return interpret(program.entry, arguments, signature.numDevices);
}

FailureOr<Tensors> assemble(const Program &program,
                            ArrayRef<GridValue> shards) {
  const Signature &signature = program.signature;
  Tensors results;
  for (auto [port, value] : llvm::zip_equal(signature.results, shards)) {
    FailureOr<Tensor> global = assembleResult(port, value, program.entry);
    if (failed(global))
      return failure();
    results.push_back(*global);
  }
  return results;
}

} // namespace shoal::run
