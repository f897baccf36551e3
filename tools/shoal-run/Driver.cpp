// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Driver.h"
#include "Compare.h"
#include "Error.h"
#include "Inputs.h"
#include "Outputs.h"
#include "Program.h"

#include "shoal/Reference/CustomCalls.h"

using namespace mlir;
using namespace shoal::reference;

namespace shoal::run {

static LogicalResult output(const Options &options, const Signature &signature,
                            ArrayRef<Tensor> results) {
  if (options.print)
    printResults(signature, results, std::numeric_limits<int64_t>::max());
  else if (options.outputDir.empty() && !options.compare)
    printResults(signature, results, /*limit=*/8);
  if (options.outputDir.empty())
    return success();
  return writeResults(signature, results, options.outputDir);
}

static FailureOr<Tensors> runWhole(const Program &program,
                                   ArrayRef<Tensor> inputs) {
  FailureOr<GridValues> shards = execute(program, inputs);
  if (failed(shards))
    return failure();
  return assemble(program, *shards);
}

/// Runs `program`, and `global` to compare with where there is one.
static LogicalResult run(const Options &options, const Program &program,
                         const Program *global) {
  const Signature &signature = program.signature;
  auto inputs = readInputs(signature, options.inputs, options.randomInputs);
  if (failed(inputs))
    return failure();
  FailureOr<GridValues> shards = execute(program, *inputs);
  if (failed(shards))
    return failure();
  if (options.printShards)
    printShards(signature, *shards);
  if (options.printShards && !options.needsWholeResults())
    return success();
  FailureOr<Tensors> results = assemble(program, *shards);
  if (failed(results) || failed(output(options, signature, *results)))
    return failure();
  if (!global)
    return success();
  FailureOr<Tensors> expected = runWhole(*global, *inputs);
  if (failed(expected))
    return failure();
  return compareResults(signature, *expected, *results, options.tolerance);
}

LogicalResult loadCustomCalls(MLIRContext &context,
                              ArrayRef<std::string> paths) {
  auto *libraries = context.getOrLoadDialect<ShoalDialect>()
                        ->getRegisteredInterface<CustomCallLibraries>();
  for (const std::string &path : paths) {
    std::string message;
    if (failed(libraries->load(path, message)))
      return error("--custom-calls: cannot load " + path + ": " + message);
  }
  return success();
}

LogicalResult run(const Options &options, ModuleOp module) {
  FailureOr<func::FuncOp> entry = findEntry(module, options.entry);
  if (failed(entry))
    return failure();
  bool isPerDevice = (*entry)->hasAttr(kSpmdAttr);
  if (!isPerDevice && options.devices == 0 && !options.compare) {
    FailureOr<Program> global = Program::readGlobal(*entry);
    return failed(global) ? failure() : run(options, *global, nullptr);
  }
  FailureOr<Program> program =
      Program::partition(*entry, options.devices, options.partition);
  if (failed(program))
    return failure();
  if (!options.compare)
    return run(options, *program, nullptr);
  if (isPerDevice)
    return error("--compare: @" + entry->getName() +
                 " is a per-device program, its global one is not known");
  FailureOr<Program> global = Program::readGlobal(*entry);
  return failed(global) ? failure() : run(options, *program, &*global);
}

} // namespace shoal::run
