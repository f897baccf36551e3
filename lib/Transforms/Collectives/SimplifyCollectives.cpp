// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SimplifyPatterns.h"
#include "SpmdFunctions.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "shoal/Dialect/Shoal/IR/LocationNotes.h"
#include "shoal/Dialect/Shoal/IR/MeshAnalysis.h"
#include "shoal/Transforms/Collectives/Passes.h"
#include "shoal/Transforms/Collectives/Uniformity.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/Support/DebugLog.h"

namespace shoal {
#define GEN_PASS_DEF_SIMPLIFYCOLLECTIVES
#include "shoal/Transforms/Collectives/Passes.h.inc"
} // namespace shoal

#define DEBUG_TYPE "shoal-simplify-collectives"

using namespace mlir;
using namespace shoal;

static PassCounter
    numRewrites(DEBUG_TYPE, "Rewrites of collectives that follow each other");
static PassCounter numCancelled(DEBUG_TYPE,
                                "Gathers of slices of what all devices hold");

namespace {

/// Whether the devices that differ on `axes` alone hold the same `value`.
bool isUniform(Value value, const AxisSet &axes, const Uniformity &uniformity) {
  return !uniformity.varyingAxes(value).anyCommon(axes);
}

/// all_gather over S of all_slice over R, S of a value that all have: the
/// all_slice over R, which sends nothing. Returns nothing where that is not
/// the case.
std::optional<AxesPerDim> findSliceAlone(spmd::AllGatherOp gather,
                                         spmd::AllSliceOp slice) {
  MeshAttr mesh = meshOf(gather);
  AxesPerDim left;
  for (auto [size, all, minor] :
       llvm::zip_equal(shapeOf(slice.getInput()), toLists(slice.getAxes()),
                       toLists(gather.getAxes()))) {
    if (minor.size() > all.size() ||
        ArrayRef(all).take_back(minor.size()) != ArrayRef(minor))
      return std::nullopt;
    AxisRefs &major = left.emplace_back(all);
    major.truncate(all.size() - minor.size());
    if (!blocksNest(size, major, minor, mesh))
      return std::nullopt;
  }
  return left;
}

void cancelSliceAndGather(spmd::AllGatherOp gather,
                          const Uniformity &uniformity) {
  auto slice = gather.getInput().getDefiningOp<spmd::AllSliceOp>();
  if (!slice || slice.getMeshAttr() != gather.getMeshAttr() ||
      !isUniform(slice.getInput(), *uniformity.groupOf(gather), uniformity))
    return;
  std::optional<AxesPerDim> left = findSliceAlone(gather, slice);
  // The all_gather may leave rows out, of a value that had more before.
  if (!left ||
      ArrayRef<int64_t>(split(shapeOf(slice.getInput()), *left,
                              meshOf(gather))) != shapeOf(gather.getResult()))
    return;
  LDBG() << "all devices hold what is sliced at " << slice.getLoc()
         << " and gathered again";
  ++numCancelled;
  Value value = slice.getInput();
  OpBuilder builder(gather);
  if (!isEmpty(*left))
    value = spmd::AllSliceOp::create(
        builder, gather.getLoc(), gather.getType(), gather.getMeshAttr(),
        toAttr(*left, gather.getContext()), value, slice.getWhyAttr());
  copyLayoutNote(gather.getResult(), value);
  gather.replaceAllUsesWith(value);
}

/// Tells which patterns did something.
struct RewriteListener : RewriterBase::Listener {
  void notifyPatternEnd(const Pattern &pattern, LogicalResult status) override {
    if (failed(status))
      return;
    LDBG() << pattern.getDebugName();
    ++numRewrites;
  }
};

struct SimplifyCollectives
    : shoal::impl::SimplifyCollectivesBase<SimplifyCollectives> {
  void runOnOperation() override {
    for (func::FuncOp function : spmdFunctions(getOperation())) {
      const Mesh *mesh = getAnalysis<MeshAnalysis>().getMesh();
      if (!mesh || failed(simplify(function, *mesh)))
        return signalPassFailure();
    }
  }

  LogicalResult simplify(func::FuncOp function, const Mesh &mesh) {
    // This needs the uniformity of values, which the patterns replace.
    Uniformity uniformity(function, mesh);
    function.walk(
        [&](spmd::AllGatherOp op) { cancelSliceAndGather(op, uniformity); });
    RewritePatternSet patterns(&getContext());
    populateSlicePatterns(patterns);
    populateGatherPatterns(patterns);
    populatePairPatterns(patterns);
    RewriteListener listener;
    return applyPatternsGreedily(function, std::move(patterns),
                                 GreedyRewriteConfig().setListener(&listener));
  }
};

} // namespace
