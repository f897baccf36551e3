// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RowTiles.h"
#include "../Buffers/BufferAccess.h"
#include "TransposeTiles.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "shoal/CostModel/ProgramCost.h"
#include "shoal/Support/Threshold.h"

using namespace mlir;
using namespace shoal;

/// Buffers of so many bytes are worth to be read once instead of twice.
static const support::Threshold
    largeBytes("bytes of a buffer that ops read in the same tile", 64 << 10);

namespace {

/// What an op does with a buffer.
struct Touch {
  Value buffer;
  BufferRange range;
  bool writes;
  /// By outer loop of the op, from the first one on, the dimension of the
  /// buffer that the loop alone walks, and that it alone walks.
  SmallVector<unsigned> dims;
};

} // namespace

//===----------------------------------------------------------------------===//
// One op
//===----------------------------------------------------------------------===//

/// The dimension that walks with `loop` and with nothing else.
static std::optional<unsigned> findDim(AffineMap map, unsigned loop) {
  std::optional<unsigned> found;
  for (auto [number, expr] : llvm::enumerate(map.getResults())) {
    if (!expr.isFunctionOfDim(loop))
      continue;
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim || found)
      return std::nullopt;
    found = number;
  }
  return found;
}

/// The loops in front of the first one that is reduced, or that walks an
/// operand in another way than row by row.
static unsigned countOuterLoops(linalg::LinalgOp op) {
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  auto isPlain = [&](unsigned loop) {
    return kinds[loop] == utils::IteratorType::parallel &&
           llvm::all_of(maps, [&](AffineMap map) {
             return !map.isFunctionOfDim(loop) || findDim(map, loop);
           });
  };
  unsigned loop = 0;
  while (loop < kinds.size() && isPlain(loop))
    ++loop;
  return loop;
}

/// Whether an operand is read across its lines: such ops want squares for
/// tiles, not rows (--shoal-tile-transposes).
static bool readsAcross(linalg::LinalgOp op) {
  unsigned last = op.getNumLoops() - 1;
  return llvm::any_of(op.getIndexingMapsArray(), [&](AffineMap map) {
    auto dense = findContiguousLoop(map);
    return dense && *dense != last && map.isFunctionOfDim(last);
  });
}

/// Nothing where the op does not say all that it touches.
static std::optional<SmallVector<Touch>> findTouches(linalg::LinalgOp op) {
  std::optional<SmallVector<BufferAccess>> accesses = accessesOf(op);
  if (!accesses)
    return std::nullopt;
  unsigned outer = countOuterLoops(op);
  SmallVector<Touch> touches;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    Touch touch{operand.get(),
                BufferRange::of(operand.get()),
                op.isDpsInit(&operand),
                {}};
    for (unsigned loop = 0; loop < outer; ++loop) {
      auto dim = findDim(op.getMatchingIndexingMap(&operand), loop);
      if (!dim)
        break;
      touch.dims.push_back(*dim);
    }
    touches.push_back(std::move(touch));
  }
  // What the body reads through indices.
  op->walk([&](memref::LoadOp load) {
    touches.push_back(
        {load.getMemref(), BufferRange::of(load.getMemref()), false, {}});
  });
  return touches;
}

static bool hasRows(linalg::LinalgOp op) {
  return op.hasPureBufferSemantics() && !op.hasDynamicShape() &&
         op.getNumLoops() > 0 && countOuterLoops(op) > 0 && !readsAcross(op);
}

//===----------------------------------------------------------------------===//
// Several
//===----------------------------------------------------------------------===//

template <typename T>
static size_t countEqual(ArrayRef<T> a, ArrayRef<T> b) {
  size_t count = 0;
  while (count < std::min(a.size(), b.size()) && a[count] == b[count])
    ++count;
  return count;
}

/// How many outer loops two ops may share, by what both touch.
static size_t countSharedLoops(ArrayRef<Touch> as, ArrayRef<Touch> bs) {
  size_t loops = SIZE_MAX;
  for (const Touch &a : as)
    for (const Touch &b : bs) {
      if ((!a.writes && !b.writes) || !a.range.overlaps(b.range))
        continue;
      if (a.buffer != b.buffer)
        return 0;
      loops = std::min(loops, countEqual<unsigned>(a.dims, b.dims));
    }
  return loops;
}

SmallVector<int64_t> shoal::findSharedRows(ArrayRef<linalg::LinalgOp> ops) {
  SmallVector<SmallVector<Touch>> touches;
  SmallVector<int64_t> rows;
  for (linalg::LinalgOp op : ops) {
    auto own = findTouches(op);
    if (!own || !hasRows(op))
      return {};
    SmallVector<int64_t> ranges = op.getStaticLoopRanges();
    ranges.truncate(countOuterLoops(op));
    size_t shared =
        touches.empty() ? ranges.size() : countEqual<int64_t>(rows, ranges);
    rows = std::move(ranges);
    for (ArrayRef<Touch> others : touches)
      shared = std::min(shared, countSharedLoops(others, *own));
    rows.truncate(std::min(shared, rows.size()));
    touches.push_back(std::move(*own));
  }
  return rows;
}

/// Whether both touch rows of one buffer, which one of them writes or which is
/// large.
static bool sharesRows(const Touch &a, const Touch &b) {
  if (a.buffer != b.buffer || a.dims.empty() || b.dims.empty() ||
      a.dims[0] != b.dims[0])
    return false;
  return a.writes || b.writes ||
         largeBytes.isReachedBy(
             sizeInBytes(cast<MemRefType>(a.buffer.getType())));
}

int64_t shoal::countSharedBytes(linalg::LinalgOp op,
                                ArrayRef<linalg::LinalgOp> others) {
  auto own = findTouches(op);
  llvm::SmallDenseSet<Value> shared;
  for (linalg::LinalgOp other : others)
    if (auto theirs = findTouches(other); own && theirs)
      for (const Touch &a : *own)
        if (llvm::any_of(*theirs,
                         [&](const Touch &b) { return sharesRows(a, b); }))
          shared.insert(a.buffer);
  int64_t bytes = 0;
  for (Value buffer : shared)
    bytes += sizeInBytes(cast<MemRefType>(buffer.getType()));
  return bytes;
}

/// Of all that the ops touch, each buffer once.
static int64_t countBytes(ArrayRef<linalg::LinalgOp> ops) {
  llvm::SmallDenseSet<Value> buffers;
  int64_t bytes = 0;
  for (linalg::LinalgOp op : ops)
    for (Value operand : op->getOperands())
      if (auto type = dyn_cast<MemRefType>(operand.getType());
          type && buffers.insert(operand).second)
        bytes += sizeInBytes(type);
  return bytes;
}

std::optional<RowTiles> shoal::planRowTiles(ArrayRef<linalg::LinalgOp> ops) {
  RowTiles rows{findSharedRows(ops), {}};
  int64_t shared = 0;
  for (size_t number = 1; number < ops.size(); ++number)
    shared =
        std::max(shared, countSharedBytes(ops[number], ops.take_front(number)));
  rows.tiles = chooseRowTiles(rows.sizes, shared, countBytes(ops));
  if (rows.tiles.empty())
    return std::nullopt;
  return rows;
}
