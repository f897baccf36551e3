// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-tile-transposes.

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "shoal/Conversion/Kernels/Passes.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "shoal-tile-transposes"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_TILETRANSPOSES
#include "shoal/Conversion/Kernels/Passes.h.inc"
} // namespace shoal

static shoal::PassCounter numTiled(DEBUG_TYPE, "Ops that run in tiles");

/// A tile's edge: its lines stay in the first cache level until all of their
/// elements have been used.
static constexpr int64_t kTile = 16;

/// The loop along which the operand is contiguous; nothing where none is.
static std::optional<unsigned> findContiguousLoop(AffineMap map) {
  if (map.getNumResults() == 0)
    return std::nullopt;
  auto last = dyn_cast<AffineDimExpr>(map.getResults().back());
  return last ? std::optional<unsigned>(last.getPosition()) : std::nullopt;
}

/// Tile sizes, 0 for a loop that stays whole; empty where nothing is gained.
static SmallVector<int64_t> chooseTiles(linalg::GenericOp op) {
  unsigned loops = op.getNumLoops();
  if (op.getNumParallelLoops() != loops || loops < 2)
    return {};
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  SmallVector<int64_t> tiles(loops, 0);
  unsigned inner = loops - 1;
  for (OpOperand &operand : op->getOpOperands()) {
    auto loop = findContiguousLoop(op.getMatchingIndexingMap(&operand));
    if (!loop || *loop == inner || ranges[*loop] < 2 * kTile ||
        ranges[inner] < 2 * kTile)
      continue;
    // An operand that the innermost loop does not move over is read once.
    if (!op.getMatchingIndexingMap(&operand).isFunctionOfDim(inner))
      continue;
    tiles[*loop] = tiles[inner] = kTile;
  }
  return llvm::all_of(tiles, [](int64_t tile) { return tile == 0; })
             ? SmallVector<int64_t>()
             : tiles;
}

namespace {

struct TileTransposes : shoal::impl::TileTransposesBase<TileTransposes> {
  void runOnOperation() override {
    SmallVector<linalg::GenericOp> ops;
    getOperation().walk([&](linalg::GenericOp op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (linalg::GenericOp op : ops) {
      SmallVector<int64_t> tiles = chooseTiles(op);
      if (tiles.empty())
        continue;
      rewriter.setInsertionPoint(op);
      linalg::LinalgTilingOptions options;
      options.setTileSizes(tiles);
      if (failed(linalg::tileLinalgOp(rewriter, op, options)))
        continue;
      LDBG() << "tiles of " << kTile << " at "
             << shoal::sourcePlace(op.getLoc());
      ++numTiled;
      rewriter.eraseOp(op);
    }
  }
};

} // namespace
