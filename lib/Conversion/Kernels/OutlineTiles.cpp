// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-outline-tiles.

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "shoal/Conversion/Kernels/Passes.h"
#include "shoal/Conversion/Kernels/TileBytes.h"
#include "shoal/Transforms/Debug/PassCounter.h"

#define DEBUG_TYPE "shoal-outline-tiles"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_OUTLINETILES
#include "shoal/Conversion/Kernels/Passes.h.inc"
} // namespace shoal

using namespace shoal;

static PassCounter numOutlined(DEBUG_TYPE, "Functions of ranges of tiles");

/// The kernel's loops over tiles, if all else in it may be done again for each
/// range.
static scf::ParallelOp findTiles(func::FuncOp func) {
  scf::ParallelOp tiles;
  if (func.isExternal() || !func.getBody().hasOneBlock())
    return {};
  for (Operation &op : func.front().without_terminator())
    if (auto loop = dyn_cast<scf::ParallelOp>(op);
        loop && loop->hasAttr(kTileBytesAttr))
      tiles = loop;
    else if (!isMemoryEffectFree(&op) && !isa<memref::AllocaOp>(op))
      return {};
  return tiles;
}

/// The number of iterations of each loop; nothing where one is not constant.
static std::optional<SmallVector<int64_t>> countsOf(scf::ParallelOp tiles) {
  SmallVector<int64_t> counts;
  for (auto [low, high, step] : llvm::zip_equal(
           tiles.getLowerBound(), tiles.getUpperBound(), tiles.getStep())) {
    auto from = getConstantIntValue(low), to = getConstantIntValue(high),
         by = getConstantIntValue(step);
    if (!from || !to || !by)
      return std::nullopt;
    counts.push_back(
        std::max<int64_t>(llvm::divideCeilSigned(*to - *from, *by), 0));
  }
  return counts;
}

/// Where tile `number`, in row-major order, begins along each loop.
static SmallVector<Value> locate(OpBuilder &builder, scf::ParallelOp tiles,
                                 ArrayRef<int64_t> counts, Value number) {
  Location loc = tiles.getLoc();
  SmallVector<Value> places(counts.size());
  for (size_t l = counts.size(); l-- > 0;) {
    Value index = number;
    if (l != 0) {
      Value count = arith::ConstantIndexOp::create(builder, loc, counts[l]);
      index = arith::RemUIOp::create(builder, loc, number, count);
      number = arith::DivUIOp::create(builder, loc, number, count);
    }
    Value offset =
        arith::MulIOp::create(builder, loc, index, tiles.getStep()[l]);
    places[l] =
        arith::AddIOp::create(builder, loc, tiles.getLowerBound()[l], offset);
  }
  return places;
}

/// Makes of the loops over all tiles one over those from `begin` to `end`.
static void restrictTo(scf::ParallelOp tiles, ArrayRef<int64_t> counts,
                       Value begin, Value end) {
  OpBuilder builder(tiles);
  Location loc = tiles.getLoc();
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto loop = scf::ForOp::create(builder, loc, begin, end, one);
  builder.setInsertionPointToStart(loop.getBody());
  IRMapping mapping;
  mapping.map(tiles.getInductionVars(),
              locate(builder, tiles, counts, loop.getInductionVar()));
  for (Operation &op : tiles.getBody()->without_terminator())
    builder.clone(op, mapping);
  tiles->erase();
}

/// The kernel again with a range of tiles as its first arguments.
static func::FuncOp makeRange(func::FuncOp kernel, ArrayRef<int64_t> counts) {
  func::FuncOp range = kernel.clone();
  range.setName((kernel.getName() + "_tiles").str());
  Type index = IndexType::get(kernel.getContext());
  for (unsigned i : {0, 1})
    (void)range.insertArgument(i, index, DictionaryAttr(), kernel.getLoc());
  scf::ParallelOp tiles = findTiles(range);
  range->setAttr(kTileBytesAttr, tiles->getAttr(kTileBytesAttr));
  restrictTo(tiles, counts, range.getArgument(0), range.getArgument(1));
  return range;
}

/// Leaves of the kernel's body the call of `range` on all tiles.
static void callRange(func::FuncOp kernel, func::FuncOp range, int64_t count) {
  Location loc = kernel.getLoc();
  Block &body = kernel.front();
  while (body.begin() != std::prev(body.end()))
    std::prev(body.end(), 2)->erase();
  OpBuilder builder(body.getTerminator());
  SmallVector<Value> arguments = {
      arith::ConstantIndexOp::create(builder, loc, 0),
      arith::ConstantIndexOp::create(builder, loc, count)};
  llvm::append_range(arguments, kernel.getArguments());
  func::CallOp::create(builder, loc, range, arguments);
}

namespace {

struct OutlineTiles : shoal::impl::OutlineTilesBase<OutlineTiles> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<func::FuncOp> functions(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp kernel : functions) {
      scf::ParallelOp tiles = findTiles(kernel);
      if (!tiles)
        continue;
      std::optional<SmallVector<int64_t>> counts = countsOf(tiles);
      if (!counts)
        continue;
      func::FuncOp range = makeRange(kernel, *counts);
      symbols.insert(range, std::next(kernel->getIterator()));
      callRange(kernel, range, llvm::product_of(*counts));
      ++numOutlined;
    }
  }
};

} // namespace
