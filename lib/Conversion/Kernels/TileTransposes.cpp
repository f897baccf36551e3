// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-tile-transposes.

#include "TransposeTiles.h"
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

static shoal::PassCounter numTransposes(DEBUG_TYPE, "Ops that run in tiles");

static constexpr int64_t kTile = shoal::kTransposeTile;

/// Tile sizes, 0 for a loop that stays whole; empty where nothing is gained.
static SmallVector<int64_t> chooseTiles(linalg::GenericOp op) {
  unsigned loops = op.getNumLoops();
  if (op.getNumParallelLoops() != loops || loops < 2)
    return {};
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  SmallVector<int64_t> tiles(loops, 0);
  unsigned inner = loops - 1;
  for (OpOperand &operand : op->getOpOperands()) {
    auto loop = shoal::findContiguousLoop(op.getMatchingIndexingMap(&operand));
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

/// Cuts off what is no whole number of tiles along each tiled loop; what is
/// left has whole tiles only.
static linalg::GenericOp splitRemainders(IRRewriter &rewriter,
                                         linalg::GenericOp op,
                                         ArrayRef<int64_t> tiles) {
  for (auto [loop, tile] : llvm::enumerate(tiles)) {
    int64_t range = op.getStaticLoopRanges()[loop];
    if (tile == 0 || range % tile == 0)
      continue;
    auto [whole, rest] =
        linalg::splitOp(rewriter, cast<TilingInterface>(op.getOperation()),
                        loop, rewriter.getIndexAttr(range / tile * tile));
    op = cast<linalg::GenericOp>(whole.getOperation());
  }
  return op;
}

static LogicalResult tile(IRRewriter &rewriter, linalg::GenericOp op,
                          SmallVector<int64_t> tiles) {
  op = splitRemainders(rewriter, op, tiles);
  rewriter.setInsertionPoint(op);
  // Around a tile its other loops make one step.
  llvm::replace(tiles, 0, 1);
  linalg::LinalgTilingOptions options;
  options.setTileSizes(tiles);
  if (failed(linalg::tileLinalgOp(rewriter, op, options)))
    return failure();
  rewriter.eraseOp(op);
  return success();
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
      std::string place = shoal::sourcePlace(op.getLoc());
      rewriter.setInsertionPoint(op);
      if (failed(tile(rewriter, op, tiles)))
        continue;
      LDBG() << "tiles of " << kTile << " at " << place;
      ++numTransposes;
    }
  }
};

} // namespace
