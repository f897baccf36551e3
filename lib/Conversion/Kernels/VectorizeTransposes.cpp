// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-vectorize-transposes.

#include "TransposeTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "shoal/Conversion/Kernels/Passes.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "shoal-vectorize-transposes"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_VECTORIZETRANSPOSES
#include "shoal/Conversion/Kernels/Passes.h.inc"
} // namespace shoal

using namespace shoal;

static PassCounter numTiles(DEBUG_TYPE, "Transposed tiles read by vectors");

namespace {

/// A tile's two loops of kTransposeTile steps; all others make one.
struct TransposedLoops {
  unsigned across, inner;
};

/// The square that an operand is of a tile.
struct Square {
  Value memref;
  /// The dimension that moves from one of its lines to the next.
  unsigned lines;
};

} // namespace

/// The operand's lines are contiguous along `along`, one for each step of
/// `lines`; nothing where it is no such square.
static std::optional<Square> findSquare(linalg::GenericOp op,
                                        OpOperand &operand, unsigned lines,
                                        unsigned along) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  // A vector of i1 would be bits, in memory they are bytes.
  if (!type || !type.getElementType().isIntOrFloat() ||
      type.getElementType().isInteger(1) || !type.isLastDimUnitStride() ||
      !map.isProjectedPermutation() || findContiguousLoop(map) != along)
    return std::nullopt;
  auto dim = map.getResultPosition(getAffineDimExpr(lines, op.getContext()));
  if (!dim)
    return std::nullopt;
  return Square{operand.get(), *dim};
}

/// Of a tile whose input `operand` is transposed.
static std::optional<TransposedLoops> findTile(linalg::GenericOp op,
                                               OpOperand &operand) {
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  auto across = findContiguousLoop(op.getMatchingIndexingMap(&operand));
  if (op.getNumParallelLoops() != ranges.size() || ranges.size() < 2 || !across)
    return std::nullopt;
  TransposedLoops tile = {*across, unsigned(ranges.size()) - 1};
  if (tile.across == tile.inner)
    return std::nullopt;
  for (auto [loop, range] : llvm::enumerate(ranges))
    if (range !=
        (loop == tile.across || loop == tile.inner ? kTransposeTile : 1))
      return std::nullopt;
  return tile;
}

static SmallVector<Value> indicesOf(OpBuilder &b, Location loc, Square square,
                                    int64_t line) {
  auto type = cast<MemRefType>(square.memref.getType());
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  SmallVector<Value> indices(type.getRank(), zero);
  indices[square.lines] = arith::ConstantIndexOp::create(b, loc, line);
  return indices;
}

/// The square's transpose, [its contiguous loop, its lines].
static Value readTransposed(OpBuilder &b, Location loc, Square square) {
  Type element = cast<MemRefType>(square.memref.getType()).getElementType();
  auto line = VectorType::get({kTransposeTile}, element);
  auto whole = VectorType::get({kTransposeTile, kTransposeTile}, element);
  Value lines = ub::PoisonOp::create(b, loc, whole);
  for (int64_t i = 0; i < kTransposeTile; ++i) {
    Value read = vector::LoadOp::create(b, loc, line, square.memref,
                                        indicesOf(b, loc, square, i));
    lines = vector::InsertOp::create(b, loc, read, lines, i);
  }
  return vector::TransposeOp::create(b, loc, lines, ArrayRef<int64_t>{1, 0});
}

static void writeLines(OpBuilder &b, Location loc, Value lines, Square square) {
  for (int64_t i = 0; i < kTransposeTile; ++i) {
    Value line = vector::ExtractOp::create(b, loc, lines, i);
    vector::StoreOp::create(b, loc, line, square.memref,
                            indicesOf(b, loc, square, i));
  }
}

/// The result's square, where the op does nothing but write the input there.
static std::optional<Square> findCopy(linalg::GenericOp op, OpOperand &input,
                                      TransposedLoops tile) {
  auto yield = cast<linalg::YieldOp>(op.getBody()->getTerminator());
  if (op.getNumDpsInits() != 1 ||
      yield.getOperand(0) != op.getMatchingBlockArgument(&input))
    return std::nullopt;
  return findSquare(op, *op.getDpsInitOperand(0), tile.across, tile.inner);
}

/// A place for one tile, the same for all iterations.
static Value allocateTile(OpBuilder &b, linalg::GenericOp op, Type element) {
  OpBuilder::InsertionGuard guard(b);
  auto function = op->getParentOfType<FunctionOpInterface>();
  b.setInsertionPointToStart(&function.getFunctionBody().front());
  auto type = MemRefType::get({kTransposeTile, kTransposeTile}, element);
  return memref::AllocaOp::create(b, op.getLoc(), type);
}

/// Makes the op read the input's transpose, line by line.
static void readFromTile(OpBuilder &b, linalg::GenericOp op, OpOperand &input,
                         TransposedLoops tile, Value lines) {
  Type element = cast<VectorType>(lines.getType()).getElementType();
  Value memref = allocateTile(b, op, element);
  writeLines(b, op.getLoc(), lines, {memref, 0});
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  maps[input.getOperandNumber()] = AffineMap::getMultiDimMapWithTargets(
      op.getNumLoops(), {tile.across, tile.inner}, op.getContext());
  op.setIndexingMapsAttr(b.getAffineMapArrayAttr(maps));
  input.set(memref);
}

/// Returns how many of the op's inputs are read by vectors now.
static unsigned vectorize(OpBuilder &b, linalg::GenericOp op) {
  unsigned count = 0;
  for (OpOperand *input : op.getDpsInputOperands()) {
    std::optional<TransposedLoops> tile = findTile(op, *input);
    if (!tile)
      continue;
    auto square = findSquare(op, *input, tile->inner, tile->across);
    if (!square)
      continue;
    b.setInsertionPoint(op);
    Value lines = readTransposed(b, op.getLoc(), *square);
    ++count;
    if (auto target = findCopy(op, *input, *tile)) {
      writeLines(b, op.getLoc(), lines, *target);
      op.erase();
      return count;
    }
    readFromTile(b, op, *input, *tile, lines);
  }
  return count;
}

namespace {

struct VectorizeTransposes
    : shoal::impl::VectorizeTransposesBase<VectorizeTransposes> {
  void runOnOperation() override {
    SmallVector<linalg::GenericOp> ops;
    getOperation().walk([&](linalg::GenericOp op) { ops.push_back(op); });
    OpBuilder builder(&getContext());
    unsigned found = 0;
    for (linalg::GenericOp op : ops) {
      LDBG() << "a tile at " << sourcePlace(op.getLoc());
      found += vectorize(builder, op);
    }
    numTiles += found;
    if (found == 0)
      return;
    RewritePatternSet patterns(&getContext());
    vector::populateVectorTransposeLoweringPatterns(
        patterns, vector::VectorTransposeLowering::Shuffle16x16);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
