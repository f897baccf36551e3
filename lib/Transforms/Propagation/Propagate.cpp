// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Extract.h"
#include "shoal/Sharding/Propagation.h"
#include "shoal/Transforms/Propagation/Passes.h"

namespace shoal {
#define GEN_PASS_DEF_PROPAGATE
#include "shoal/Transforms/Propagation/Passes.h.inc"
} // namespace shoal

using namespace mlir;
using namespace shoal;

static LogicalResult propagate(func::FuncOp function, const Mesh &mesh) {
  FailureOr<ExtractedProblem> extracted = extractProblem(function, mesh);
  if (failed(extracted))
    return failure();
  Builder builder(function.getContext());
  Hints hints = propagateHints(extracted->problem);
  SmallVector<Attribute> argumentHints, argumentOrigins;
  for (auto [id, op] : llvm::enumerate(extracted->problem.ops)) {
    SmallVector<Attribute> shardings, origins;
    for (unsigned value : op.results) {
      Sharding sharding = hints.sharding(value);
      shardings.push_back(extracted->toAttr(sharding, op.deviceOrder));
      origins.push_back(builder.getStringAttr(
          describeOrigin(*extracted, hints, value, sharding)));
    }
    const ProblemOp &origin = extracted->ops[id];
    if (origin.isResult || op.results.empty())
      continue;
    if (origin.isArgument()) {
      llvm::append_range(argumentHints, shardings);
      llvm::append_range(argumentOrigins, origins);
      continue;
    }
    origin.op->setAttr(kShardingsAttr, builder.getArrayAttr(shardings));
    origin.op->setAttr(kOriginAttr, builder.getArrayAttr(origins));
  }
  function->setAttr(kArgumentHintsAttr, builder.getArrayAttr(argumentHints));
  function->setAttr(kArgumentOriginsAttr,
                    builder.getArrayAttr(argumentOrigins));
  return success();
}

namespace {

struct Propagate : shoal::impl::PropagateBase<Propagate> {
  void runOnOperation() override {
    FailureOr<Mesh> mesh = collectMesh(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (isGlobalProgram(function) && failed(propagate(function, *mesh)))
        return signalPassFailure();
  }
};

} // namespace
