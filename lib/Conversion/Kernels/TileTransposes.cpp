// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-tile-transposes.

#include "LoopBox.h"
#include "TransposeTiles.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "shoal/Conversion/Kernels/Passes.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Support/Threshold.h"
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
static const shoal::support::Threshold
    leastRange("rows and columns of a transposed operand in tiles", 2 * kTile);

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
    if (!loop || *loop == inner ||
        !leastRange.isReachedBy(std::min(ranges[*loop], ranges[inner])))
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

/// Whether tiles of all loops, of one size each, make the op.
static bool canTile(linalg::GenericOp op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  return op.hasPureBufferSemantics() &&
         llvm::all_of(llvm::seq(op.getNumLoops()), [&](unsigned loop) {
           return shoal::cutOf(maps, loop) != shoal::LoopCut::None;
         });
}

/// A copy of the op that makes of one loop the steps in [begin, end).
static linalg::GenericOp emitSteps(OpBuilder &builder, linalg::GenericOp op,
                                   unsigned loop, int64_t begin, int64_t end) {
  shoal::LoopBox box = shoal::LoopBox::all(op);
  box.begins[loop] = builder.getIndexAttr(begin);
  box.sizes[loop] = builder.getIndexAttr(end - begin);
  return cast<linalg::GenericOp>(
      shoal::emitBox(builder, op, box).getOperation());
}

/// Cuts off what is no whole number of tiles along each tiled loop; what is
/// left has whole tiles only.
static linalg::GenericOp splitRemainders(linalg::GenericOp op,
                                         ArrayRef<int64_t> tiles) {
  for (auto [loop, tile] : llvm::enumerate(tiles)) {
    int64_t range = op.getStaticLoopRanges()[loop];
    if (tile == 0 || range % tile == 0)
      continue;
    OpBuilder builder(op);
    int64_t end = range / tile * tile;
    linalg::GenericOp whole = emitSteps(builder, op, loop, 0, end);
    emitSteps(builder, op, loop, end, range);
    op->erase();
    op = whole;
  }
  return op;
}

static void tile(linalg::GenericOp op, SmallVector<int64_t> tiles) {
  op = splitRemainders(op, tiles);
  // Around a tile its other loops make one step.
  llvm::replace(tiles, 0, 1);
  OpBuilder builder(op);
  Location loc = op.getLoc();
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  auto constants = [&](ArrayRef<int64_t> numbers) {
    return llvm::map_to_vector(numbers, [&](int64_t number) -> Value {
      return arith::ConstantIndexOp::create(builder, loc, number);
    });
  };
  scf::buildLoopNest(
      builder, loc, constants(SmallVector<int64_t>(tiles.size(), 0)),
      constants(ranges), constants(tiles),
      [&](OpBuilder &b, Location, ValueRange places) {
        shoal::LoopBox box = shoal::LoopBox::all(op);
        for (auto [loop, place] : llvm::enumerate(places))
          box.cut(b, loc, loop, place, tiles[loop], ranges[loop]);
        shoal::emitBox(b, op, box);
      });
  op->erase();
}

namespace {

struct TileTransposes : shoal::impl::TileTransposesBase<TileTransposes> {
  void runOnOperation() override {
    SmallVector<linalg::GenericOp> ops;
    getOperation().walk([&](linalg::GenericOp op) { ops.push_back(op); });
    for (linalg::GenericOp op : ops) {
      SmallVector<int64_t> tiles = chooseTiles(op);
      if (tiles.empty() || !canTile(op))
        continue;
      LDBG() << "tiles of " << kTile << " at "
             << shoal::sourcePlace(op.getLoc());
      tile(op, tiles);
      ++numTransposes;
    }
  }
};

} // namespace
