// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-tile-for-threads.

#include "LoopBox.h"
#include "RowTiles.h"
#include "TransposeTiles.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "shoal/Conversion/Kernels/Passes.h"
#include "shoal/Conversion/Kernels/TileBytes.h"
#include "shoal/CostModel/ProgramCost.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "shoal-tile-for-threads"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_TILEFORTHREADS
#include "shoal/Conversion/Kernels/Passes.h.inc"
} // namespace shoal

using namespace shoal;

static PassCounter numThreadTiled(DEBUG_TYPE, "Kernels in tiles for threads");

/// The kernel's ops, if there is nothing beside them but what makes their
/// operands.
static SmallVector<linalg::LinalgOp> findOps(func::FuncOp func) {
  SmallVector<linalg::LinalgOp> ops;
  if (!func.isPrivate() || func.isExternal() || !func.getBody().hasOneBlock())
    return {};
  for (Operation &op : func.front().without_terminator()) {
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (!linalgOp && !isMemoryEffectFree(&op))
      return {};
    if (linalgOp)
      ops.push_back(linalgOp);
  }
  return ops;
}

/// Whether tiles may run at the same time: all that is written is a buffer that
/// nothing else is an alias of, and the body writes nothing else.
static bool isShareable(func::FuncOp func, linalg::LinalgOp op) {
  auto isNoalias = [&](Value buffer) {
    while (auto view = buffer.getDefiningOp<memref::SubViewOp>())
      buffer = view.getSource();
    auto argument = dyn_cast<BlockArgument>(buffer);
    return argument && func.getArgAttr(argument.getArgNumber(),
                                       LLVM::LLVMDialect::getNoAliasAttrName());
  };
  auto mayRun = [](Operation &inner) {
    return isMemoryEffectFree(&inner) || isa<memref::LoadOp>(inner);
  };
  return op.hasPureBufferSemantics() &&
         llvm::all_of(op.getDpsInits(), isNoalias) &&
         llvm::all_of(op->getRegion(0).front().without_terminator(), mayRun);
}

/// What an iteration computes, as the bytes that take as long to move: an
/// operation in a vector takes a part of a nanosecond, one of `math` several.
static double bodyBytes(linalg::LinalgOp op) {
  double bytes = 0;
  for (Operation &inner : op->getRegion(0).front().without_terminator())
    bytes +=
        isa<math::MathDialect>(inner.getDialect()) || inner.getNumRegions() != 0
            ? 8
            : 0.5;
  return bytes;
}

/// As the bytes that take as long to move.
static double costOf(linalg::LinalgOp op) {
  double touched = 0, iterations = 1;
  for (Value operand : op->getOperands())
    if (auto type = dyn_cast<MemRefType>(operand.getType()))
      touched += static_cast<double>(sizeInBytes(type));
  for (int64_t range : op.getStaticLoopRanges())
    iterations *= static_cast<double>(range);
  return std::max(touched, iterations * bodyBytes(op));
}

/// Transposed operands are read in squares, which --shoal-tile-transposes cuts
/// out of two of them at least.
static void keepSquares(linalg::LinalgOp op,
                        MutableArrayRef<KernelLoop> loops) {
  if (op.getNumParallelLoops() != loops.size() || loops.size() < 2)
    return;
  for (AffineMap map : op.getIndexingMapsArray()) {
    auto across = findContiguousLoop(map);
    if (!across || *across + 1 == loops.size() ||
        !map.isFunctionOfDim(loops.size() - 1))
      continue;
    for (KernelLoop &loop : loops)
      loop.unit = std::max<int64_t>(loop.unit, 1);
    loops[*across].unit = loops.back().unit = 2 * kTransposeTile;
  }
}

static SmallVector<KernelLoop> loopsOf(linalg::LinalgOp op) {
  SmallVector<KernelLoop> loops;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  for (auto [number, size, kind] :
       llvm::enumerate(op.getStaticLoopRanges(), op.getIteratorTypesArray())) {
    LoopCut cut = cutOf(maps, number);
    bool isParallel =
        kind == utils::IteratorType::parallel && cut != LoopCut::None;
    loops.push_back({size, isParallel, /*unit=*/cut == LoopCut::Equal});
  }
  keepSquares(op, loops);
  return loops;
}

/// The loops over the tiles of a kernel, of which each costs so much.
static void markTiles(scf::ParallelOp loops, double cost, int64_t count) {
  LDBG() << count << " tiles at " << sourcePlace(loops.getLoc());
  ++numThreadTiled;
  auto bytes = static_cast<int64_t>(cost / static_cast<double>(count));
  loops->setAttr(
      kTileBytesAttr,
      IntegerAttr::get(IntegerType::get(loops.getContext(), 64), bytes));
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// Loops over the tiles of all rows.
static scf::ParallelOp makeTileLoops(OpBuilder &builder, Location loc,
                                     const RowTiles &rows) {
  SmallVector<Value> begins, ends, steps;
  for (auto [size, tile] : llvm::zip_equal(rows.sizes, rows.tiles)) {
    if (tile == 0)
      continue;
    begins.push_back(arith::ConstantIndexOp::create(builder, loc, 0));
    ends.push_back(arith::ConstantIndexOp::create(builder, loc, size));
    steps.push_back(arith::ConstantIndexOp::create(builder, loc, tile));
  }
  return scf::ParallelOp::create(builder, loc, begins, ends, steps);
}

/// The op on the rows of one tile, where the builder is.
static void emitTile(OpBuilder &builder, linalg::LinalgOp op,
                     const RowTiles &rows, ValueRange places) {
  LoopBox box = LoopBox::all(op);
  for (auto [loop, size, tile] : llvm::enumerate(rows.sizes, rows.tiles)) {
    if (tile == 0)
      continue;
    box.cut(builder, op.getLoc(), loop, places.front(), tile, size);
    places = places.drop_front();
  }
  emitBox(builder, op, box);
}

/// Runs all ops on a tile of their outer loops before the next tile.
static void tileOps(ArrayRef<linalg::LinalgOp> ops, const RowTiles &rows,
                    double cost) {
  int64_t count = 1;
  for (auto [size, tile] : llvm::zip_equal(rows.sizes, rows.tiles))
    count *= tile == 0 ? 1 : llvm::divideCeil(size, tile);
  linalg::LinalgOp last = ops.back();
  OpBuilder builder(last);
  scf::ParallelOp loops = makeTileLoops(builder, last.getLoc(), rows);
  builder.setInsertionPointToStart(loops.getBody());
  for (linalg::LinalgOp op : ops)
    emitTile(builder, op, rows, loops.getInductionVars());
  markTiles(loops, cost, count);
  for (linalg::LinalgOp op : ops)
    op->erase();
}

static void tileOp(linalg::LinalgOp op) {
  SmallVector<KernelLoop> loops = loopsOf(op);
  double cost = costOf(op);
  RowTiles rows{op.getStaticLoopRanges(), chooseKernelTiles(loops, cost)};
  if (!rows.tiles.empty())
    tileOps(op, rows, cost);
}

static void tileRows(ArrayRef<linalg::LinalgOp> ops) {
  double cost = 0;
  for (linalg::LinalgOp op : ops)
    cost += costOf(op);
  if (std::optional<RowTiles> rows = planRowTiles(ops))
    tileOps(ops, *rows, cost);
}

namespace {

struct TileForThreads : shoal::impl::TileForThreadsBase<TileForThreads> {
  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> ops = findOps(getOperation());
    for (linalg::LinalgOp op : ops)
      if (op.hasDynamicShape() || !isShareable(getOperation(), op))
        return;
    if (ops.size() == 1)
      tileOp(ops.front());
    else if (ops.size() > 1)
      tileRows(ops);
  }
};

} // namespace
