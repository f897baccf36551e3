// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Writer.h"
#include "shoal/Dialect/Shoal/IR/MeshAnalysis.h"
#include "shoal/Sharding/Propagation.h"
#include "shoal/Transforms/Propagation/Passes.h"
#include "llvm/Support/DebugLog.h"

namespace shoal {
#define GEN_PASS_DEF_PROPAGATE
#include "shoal/Transforms/Propagation/Passes.h.inc"
} // namespace shoal

#define DEBUG_TYPE "shoal-propagate"

using namespace mlir;
using namespace shoal;

static LogicalResult propagate(func::FuncOp function, const Mesh &mesh) {
  FailureOr<ExtractedProblem> extracted = extractProblem(function, mesh);
  if (failed(extracted))
    return failure();
  Builder builder(function.getContext());
  Hints hints = propagateHints(extracted->problem);
  ShardingWriter writer(*extracted, hints);
  for (const AssignmentProblem::Op &op : extracted->problem.ops)
    for (unsigned value : op.results) {
      Sharding sharding = hints.sharding(value);
      LDBG() << op.label << ": " << toString(sharding, mesh);
      writer.add(value, sharding, op.deviceOrder);
    }
  writer.writeResults();
  function->setAttr(kArgumentHintsAttr,
                    builder.getArrayAttr(writer.getArguments().shardings));
  function->setAttr(kArgumentOriginsAttr,
                    builder.getArrayAttr(writer.getArguments().origins));
  return success();
}

namespace {

struct Propagate : shoal::impl::PropagateBase<Propagate> {
  void runOnOperation() override {
    markAnalysesPreserved<MeshAnalysis>();
    const Mesh *mesh = getAnalysis<MeshAnalysis>().getMesh();
    if (!mesh)
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (isGlobalProgram(function) && failed(propagate(function, *mesh)))
        return signalPassFailure();
  }
};

} // namespace
