// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelEmitter.h"

using namespace mlir;
using namespace shoal;

using Values = KernelEmitter::Values;

static constexpr int64_t kSharedTile = KernelSchedule::kTile;
static constexpr int64_t kSharedRows = KernelSchedule::kTileRows;
/// A row of a tile has one element more than it holds, so that the elements of
/// a column lie in different banks of shared memory.
static constexpr int64_t kPitch = kSharedTile + 1;

namespace {

/// A tile's corner, and its two loops: the results are dense along `dense`, the
/// operands of tiles along `other`.
struct Tile {
  unsigned dense, other;
  Values corner;
};

} // namespace

/// The tile of the block; its loops run fastest.
static Tile findTile(KernelEmitter &e, Value block) {
  const KernelSchedule &s = e.schedule;
  Tile tile{s.parallel.back(), s.tileLoop, e.zeroIndices()};
  auto cut = [&](unsigned loop) {
    int64_t tiles = llvm::divideCeil(e.nest.loops[loop].range, kSharedTile);
    tile.corner[loop] = e.mul(e.rem(block, tiles), kSharedTile);
    block = e.div(block, tiles);
  };
  cut(tile.dense);
  cut(tile.other);
  SmallVector<unsigned> others;
  llvm::copy_if(s.parallel, std::back_inserter(others), [&](unsigned loop) {
    return loop != tile.dense && loop != tile.other;
  });
  e.setIndices(block, others, /*lastStep=*/1, tile.corner);
  return tile;
}

/// Runs through the tile with neighbouring threads along `fast`; `body` gets
/// the places in the tile along `fast` and `slow`.
static void
forEachElement(KernelEmitter &e, const Tile &tile, unsigned fast, unsigned slow,
               llvm::function_ref<void(ArrayRef<Value>, Value, Value)> body) {
  Value x = e.threadX();
  e.forLoop(e.threadY(), e.constant(kSharedTile), kSharedRows, ValueRange(),
            [&](Value y, ValueRange) {
              Values indices = tile.corner;
              indices[fast] = e.add(indices[fast], x);
              indices[slow] = e.add(indices[slow], y);
              auto guard = [&](unsigned loop,
                               llvm::function_ref<void()> inner) {
                int64_t range = e.nest.loops[loop].range;
                if (range % kSharedTile == 0)
                  return inner();
                e.ifTrue(e.isLess(indices[loop], range), inner);
              };
              guard(fast, [&] { guard(slow, [&] { body(indices, x, y); }); });
              return Values();
            });
}

void shoal::emitTranspose(KernelEmitter &e) {
  const KernelSchedule &s = e.schedule;
  llvm::SmallDenseMap<unsigned, Value> tiles;
  auto typeOf = [&](unsigned operand) {
    return getElementTypeOrSelf(e.op->getOperand(operand).getType());
  };
  for (unsigned operand : s.tileOperands)
    tiles[operand] = e.allocateShared(kSharedTile * kPitch, typeOf(operand));
  e.forEachBlock([&](Value block) {
    Tile tile = findTile(e, block);
    forEachElement(e, tile, tile.other, tile.dense,
                   [&](ArrayRef<Value> indices, Value x, Value y) {
                     for (unsigned operand : s.tileOperands)
                       e.storeShared(
                           e.load(operand, e.address(operand, indices)),
                           tiles[operand], e.add(e.mul(y, kPitch), x));
                   });
    e.barrier();
    forEachElement(
        e, tile, tile.dense, tile.other,
        [&](ArrayRef<Value> indices, Value x, Value y) {
          Values arguments;
          for (unsigned operand = 0; operand < e.op->getNumOperands();
               ++operand) {
            Value place = e.add(e.mul(x, kPitch), y);
            if (tiles.contains(operand))
              arguments.push_back(
                  e.loadShared(tiles[operand], place, typeOf(operand)));
            else if (e.nest.accesses[operand].isRead)
              arguments.push_back(e.load(operand, e.address(operand, indices)));
            else
              arguments.push_back(e.withoutMemory(operand).front());
          }
          for (auto [number, value] :
               llvm::enumerate(e.runBody(indices, arguments)))
            e.store(e.operandOf(number),
                    e.address(e.operandOf(number), indices), value);
        });
    // The next tile goes to the same place.
    if (s.grid != s.blocks)
      e.barrier();
  });
}
