// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-jam-reductions.

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/IR/PatternMatch.h"
#include "shoal/Conversion/Kernels/Passes.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Support/Threshold.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "shoal-jam-reductions"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_JAMREDUCTIONS
#include "shoal/Conversion/Kernels/Passes.h.inc"
} // namespace shoal

using namespace shoal;

static PassCounter numJammed(DEBUG_TYPE,
                             "Reductions of several rows at a time");

/// Rows that are read at a time, of all operands: as many streams as a core's
/// prefetchers follow.
static constexpr int64_t kMaxRows = 8;
static const support::Threshold manyRows("rows of a reduction in one pass",
                                         kMaxRows);
/// Of bodies after each other.
static constexpr int64_t kMaxJammedOps = 64;

static bool isReduction(linalg::GenericOp op, unsigned loop) {
  return op.getIteratorTypesArray()[loop] == utils::IteratorType::reduction;
}

/// The last reduced loop, where kept ones lie in it; nothing for sums along the
/// innermost loop, and where what is stored in between would be stored twice.
static std::optional<unsigned> findRowLoop(linalg::GenericOp op) {
  unsigned loop = op.getNumLoops();
  while (loop > 0 && !isReduction(op, loop - 1))
    --loop;
  if (loop == 0 || loop == op.getNumLoops())
    return std::nullopt;
  bool areSums = llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
    return !op.getMatchingIndexingMap(&init).isFunctionOfDim(loop - 1);
  });
  return areSums ? std::optional(loop - 1) : std::nullopt;
}

/// How many rows one pass over the result takes; 1 where it would gain nothing.
static int64_t countRows(linalg::GenericOp op, unsigned rowLoop) {
  int64_t streams = 0, ops = 0;
  for (OpOperand *input : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(input);
    streams += map.isFunctionOfDim(rowLoop) &&
               map.isFunctionOfDim(op.getNumLoops() - 1);
  }
  for (Operation &inner : op.getBody()->without_terminator()) {
    if (inner.getNumRegions() != 0)
      return 1;
    ++ops;
  }
  int64_t rows = kMaxRows / std::max<int64_t>(streams, 1);
  rows = std::min(rows, kMaxJammedOps / std::max<int64_t>(ops, 1));
  int64_t range = op.getStaticLoopRanges()[rowLoop];
  return manyRows.isReachedBy(range) ? rows : std::min(rows, range);
}

/// Cuts off the steps that are not whole times `rows`: a loop of their own.
static void splitRest(OpBuilder &builder, scf::ForOp loop, int64_t size,
                      int64_t rows) {
  int64_t whole = size / rows * rows;
  if (whole == size)
    return;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop);
  Value end = arith::ConstantIndexOp::create(builder, loop.getLoc(), whole);
  builder.setInsertionPointAfter(loop);
  auto rest = cast<scf::ForOp>(builder.clone(*loop));
  rest.setLowerBound(end);
  loop.setUpperBound(end);
}

namespace {

struct JamReductions : shoal::impl::JamReductionsBase<JamReductions> {
  void runOnOperation() override {
    SmallVector<linalg::GenericOp> ops;
    getOperation().walk([&](linalg::GenericOp op) { ops.push_back(op); });
    for (linalg::GenericOp op : ops)
      jam(op);
  }

private:
  static void jam(linalg::GenericOp op) {
    if (!op.hasPureBufferSemantics() || op.hasDynamicShape())
      return;
    std::optional<unsigned> rowLoop = findRowLoop(op);
    int64_t rows = rowLoop ? countRows(op, *rowLoop) : 1;
    if (rows < 2)
      return;
    LDBG() << rows << " rows at a time at " << sourcePlace(op.getLoc());
    ++numJammed;
    int64_t size = op.getStaticLoopRanges()[*rowLoop];
    IRRewriter rewriter(op);
    FailureOr<linalg::LinalgLoops> loops =
        linalg::linalgOpToLoops(rewriter, op);
    assert(succeeded(loops) && "an op on buffers of static shape has loops");
    rewriter.eraseOp(op);
    auto loop = cast<scf::ForOp>((*loops)[*rowLoop]);
    splitRest(rewriter, loop, size, rows);
    [[maybe_unused]] LogicalResult jammed = loopUnrollJamByFactor(loop, rows);
    assert(succeeded(jammed) && "bounds are constants, and whole times `rows`");
  }
};

} // namespace
