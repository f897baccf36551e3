// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-split-reductions.

#include "Combiner.h"
#include "KernelSchedule.h"
#include "SplitViews.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "shoal/Conversion/Device/Passes.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "shoal-split-reductions"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_SPLITREDUCTIONS
#include "shoal/Conversion/Device/Passes.h.inc"
} // namespace shoal

using namespace shoal;

static PassCounter numSplit(DEBUG_TYPE, "Reductions cut into parts");

/// A part is worth its block.
static constexpr int64_t kPartIterations = int64_t(1) << 12;
/// Parts of a dense loop begin where whole blocks may load 16 bytes a thread.
static constexpr int64_t kDenseStep = 2048;

static bool isReduced(linalg::GenericOp op, unsigned result) {
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(result));
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray()))
    if (kind == utils::IteratorType::reduction && map.isFunctionOfDim(loop))
      return false;
  return true;
}

/// Whether the loop is a dimension of its own wherever it occurs.
static bool isPlain(linalg::GenericOp op, unsigned loop) {
  return llvm::all_of(op.getIndexingMapsArray(), [&](AffineMap map) {
    return llvm::all_of(map.getResults(), [&](AffineExpr expr) {
      return isa<AffineDimExpr>(expr) || !expr.isFunctionOfDim(loop);
    });
  });
}

/// How many parts the op should have so that it fills the device; 1 where it
/// does, or where its order is the program's; failure where no kernel can run
/// it, of which an error has told.
static FailureOr<int64_t> countParts(linalg::GenericOp op,
                                     const DeviceLimits &limits) {
  if (!op.hasPureBufferSemantics() || op.hasDynamicShape() ||
      op.getNumReductionLoops() == 0)
    return 1;
  FailureOr<LoopNest> nest = analyzeLoops(op);
  if (failed(nest))
    return failure();
  if (nest->isEmpty() || !nest->combinesInAnyOrder)
    return 1;
  for (const Access &access : nest->accesses)
    if (access.isWritten && nest->getResultKind(access) == ResultKind::Mixed)
      return 1;
  KernelSchedule schedule = chooseSchedule(*nest, limits);
  bool isShared = schedule.shape == KernelShape::RowReduction ||
                  schedule.shape == KernelShape::ColumnReduction;
  int64_t reduced = nest->countIterations(true);
  int64_t iterations = nest->countIterations(false) * reduced;
  if (!isShared || !leavesDeviceIdle(schedule.blocks, iterations, limits))
    return 1;
  // Some blocks for each multiprocessor.
  return std::min(8 * limits.someBlocks / schedule.blocks,
                  iterations / schedule.blocks / kPartIterations);
}

/// The outermost of the reduced loops that give most parts; nothing where there
/// is to be one part; failure as above.
static FailureOr<std::optional<Split>> chooseSplit(linalg::GenericOp op,
                                                   const DeviceLimits &limits) {
  std::optional<Split> best;
  FailureOr<int64_t> parts = countParts(op, limits);
  if (failed(parts))
    return failure();
  if (*parts < 2)
    return best;
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
    if (kind != utils::IteratorType::reduction || !isPlain(op, loop))
      continue;
    int64_t chunk = llvm::divideCeil(ranges[loop], *parts);
    if (loop + 1 == ranges.size())
      chunk = llvm::alignTo(chunk, kDenseStep);
    Split split{static_cast<unsigned>(loop), ranges[loop], ranges[loop] / chunk,
                chunk};
    if (split.parts >= 2 && (!best || split.parts > best->parts))
      best = split;
  }
  return best;
}

//===----------------------------------------------------------------------===//
// The ops
//===----------------------------------------------------------------------===//

/// Adds `begin`, and what `part` stands for, to the body's index of the loop.
static void moveIndices(linalg::GenericOp op, const Split &split, bool hasParts,
                        int64_t begin) {
  SmallVector<linalg::IndexOp> indices(op.getBody()->getOps<linalg::IndexOp>());
  for (linalg::IndexOp index : indices) {
    OpBuilder builder(index);
    Location loc = index.getLoc();
    auto loop = static_cast<unsigned>(index.getDim());
    if (hasParts && loop >= split.loop)
      index.setDim(loop + 1);
    if (loop != split.loop)
      continue;
    builder.setInsertionPointAfter(index);
    Value first;
    if (hasParts) {
      Value part = linalg::IndexOp::create(builder, loc, split.loop);
      Value chunk = arith::ConstantIndexOp::create(builder, loc, split.chunk);
      first = arith::MulIOp::create(builder, loc, part, chunk);
    } else {
      first = arith::ConstantIndexOp::create(builder, loc, begin);
    }
    auto moved = arith::AddIOp::create(builder, loc, index, first);
    index.getResult().replaceAllUsesExcept(moved, moved);
  }
}

static linalg::GenericOp cloneWith(OpBuilder &builder, linalg::GenericOp op,
                                   ValueRange operands,
                                   ArrayRef<AffineMap> maps,
                                   ArrayRef<utils::IteratorType> iterators) {
  size_t inputs = op.getNumDpsInputs();
  auto clone = linalg::GenericOp::create(
      builder, op.getLoc(), operands.take_front(inputs),
      operands.drop_front(inputs), maps, iterators);
  IRMapping mapping;
  op.getRegion().cloneInto(&clone.getRegion(), mapping);
  return clone;
}

/// What the op's results begin with, see kInitialAttr.
static SmallVector<Attribute> initialsOf(linalg::GenericOp op) {
  if (auto initial = op->getAttrOfType<ArrayAttr>(kInitialAttr))
    return llvm::to_vector(initial);
  return SmallVector<Attribute>(op.getNumDpsInits(),
                                UnitAttr::get(op.getContext()));
}

static void setInitials(linalg::GenericOp op, ArrayRef<Attribute> initials) {
  if (!llvm::all_of(initials, llvm::IsaPred<UnitAttr>))
    op->setAttr(kInitialAttr, ArrayAttr::get(op.getContext(), initials));
}

/// Combines each part by itself; the buffers of the reduced results by number.
static llvm::MapVector<unsigned, Value>
reduceParts(OpBuilder &builder, linalg::GenericOp op, const Split &split) {
  Location loc = op.getLoc();
  llvm::MapVector<unsigned, Value> partial;
  SmallVector<Value> operands;
  SmallVector<AffineMap> maps;
  SmallVector<Attribute> initials = initialsOf(op);
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    int64_t result =
        static_cast<int64_t>(operand.getOperandNumber()) - op.getNumDpsInputs();
    maps.push_back(cutIntoParts(map, split));
    if (result < 0 || !isReduced(op, result)) {
      operands.push_back(
          isa<MemRefType>(operand.get().getType())
              ? cutIntoParts(builder, loc, operand.get(), map, split)
              : operand.get());
      continue;
    }
    auto type = cast<MemRefType>(operand.get().getType());
    SmallVector<int64_t> shape = {split.parts};
    llvm::append_range(shape, type.getShape());
    Value buffer = memref::AllocOp::create(
        builder, loc, MemRefType::get(shape, type.getElementType()));
    initials[result] = getNeutralElement(matchCombiner(op, result));
    SmallVector<AffineExpr> places = {builder.getAffineDimExpr(split.loop)};
    llvm::append_range(places, maps.back().getResults());
    maps.back() = AffineMap::get(maps.back().getNumDims(), 0, places,
                                 builder.getContext());
    operands.push_back(buffer);
    partial[result] = buffer;
  }
  auto iterators = op.getIteratorTypesArray();
  iterators.insert(iterators.begin() + split.loop,
                   utils::IteratorType::parallel);
  auto parts = cloneWith(builder, op, operands, maps, iterators);
  setInitials(parts, initials);
  moveIndices(parts, split, /*hasParts=*/true, 0);
  return partial;
}

/// What no part covers, as the op did all.
static void reduceRest(OpBuilder &builder, linalg::GenericOp op,
                       const Split &split) {
  SmallVector<Value> operands;
  for (OpOperand &operand : op->getOpOperands())
    operands.push_back(isa<MemRefType>(operand.get().getType())
                           ? slice(builder, op.getLoc(), operand.get(),
                                   op.getMatchingIndexingMap(&operand),
                                   split.loop, split.covered(), split.rest())
                           : operand.get());
  auto rest = cloneWith(builder, op, operands, op.getIndexingMapsArray(),
                        op.getIteratorTypesArray());
  setInitials(rest, initialsOf(op));
  moveIndices(rest, split, /*hasParts=*/false, split.covered());
}

/// Combines the parts with `initial`, or with what the result holds.
static void combineParts(OpBuilder &builder, linalg::GenericOp op,
                         unsigned result, Value partial, Attribute initial) {
  Value target = op.getDpsInitOperand(result)->get();
  int64_t rank = cast<MemRefType>(target.getType()).getRank();
  Operation *combiner = matchCombiner(op, result);
  AffineMap whole = builder.getMultiDimIdentityMap(rank + 1);
  SmallVector<utils::IteratorType> iterators(rank + 1,
                                             utils::IteratorType::parallel);
  iterators[0] = utils::IteratorType::reduction;
  auto combined = linalg::GenericOp::create(
      builder, op.getLoc(), partial, target, {whole, whole.dropResult(0)},
      iterators, [&](OpBuilder &nested, Location loc, ValueRange args) {
        linalg::YieldOp::create(nested, loc,
                                combine(nested, combiner, args[1], args[0]));
      });
  setInitials(combined, initial);
}

namespace {

struct SplitReductions : shoal::impl::SplitReductionsBase<SplitReductions> {
  using SplitReductionsBase::SplitReductionsBase;

  void runOnOperation() override {
    SmallVector<linalg::GenericOp> ops;
    getOperation().walk([&](linalg::GenericOp op) {
      if (!isa<rt::KernelOp>(op->getParentOp()))
        ops.push_back(op);
    });
    for (linalg::GenericOp op : ops) {
      FailureOr<std::optional<Split>> chosen =
          chooseSplit(op, machineOf(machine).limits);
      if (failed(chosen))
        return signalPassFailure();
      if (!*chosen)
        continue;
      const Split &split = **chosen;
      LDBG() << "loop " << split.loop << " at " << sourcePlace(op.getLoc())
             << ": " << split.parts << " parts of " << split.chunk << ", "
             << split.rest() << " left over";
      ++numSplit;
      OpBuilder builder(op);
      auto partial = reduceParts(builder, op, split);
      SmallVector<Attribute> initials = initialsOf(op);
      if (split.rest() != 0) {
        reduceRest(builder, op, split);
        initials.assign(initials.size(), builder.getUnitAttr());
      }
      for (auto [result, buffer] : partial)
        combineParts(builder, op, result, buffer, initials[result]);
      op.erase();
    }
  }
};

} // namespace
