// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelEmitter.h"

using namespace mlir;
using namespace shoal;

using Values = KernelEmitter::Values;

static constexpr int64_t kWarp = DeviceLimits().warpThreads;

/// Combines the sums of `lanes` neighbouring threads of a warp, a power of two;
/// each gets the result.
static Values combineLanes(KernelEmitter &e, Values sums, int64_t lanes) {
  for (int64_t distance = lanes / 2; distance > 0; distance /= 2) {
    Values others;
    for (Value sum : sums)
      others.push_back(e.shuffleXor(sum, distance));
    sums = e.combineSums(sums, others);
  }
  return sums;
}

/// Combines the sums of all warps of the block, each of which has its own in
/// all lanes.
static Values combineWarps(KernelEmitter &e, Values sums, Value thread,
                           int64_t warps, ArrayRef<Value> shared) {
  e.ifTrue(e.isLess(e.rem(thread, kWarp), 1), [&] {
    for (auto [sum, buffer] : llvm::zip_equal(sums, shared))
      e.storeShared(sum, buffer, e.div(thread, kWarp));
  });
  e.barrier();
  Values ofWarps;
  for (auto [sum, buffer] : llvm::zip_equal(sums, shared))
    ofWarps.push_back(
        e.loadShared(buffer, e.rem(thread, warps), sum.getType()));
  return combineLanes(e, ofWarps, warps);
}

Values shoal::allocateForWarps(KernelEmitter &e, int64_t lanes) {
  Values shared;
  if (lanes > kWarp)
    for (Value element : e.neutralElements())
      shared.push_back(e.allocateShared(lanes / kWarp, element.getType()));
  return shared;
}

Values shoal::combineRow(KernelEmitter &e, Values sums, Value thread,
                         int64_t lanes, ArrayRef<Value> shared) {
  sums = combineLanes(e, sums, std::min(lanes, kWarp));
  return lanes > kWarp ? combineWarps(e, sums, thread, lanes / kWarp, shared)
                       : sums;
}

/// Combines the sums with what the results hold.
static void storeRowSums(KernelEmitter &e, ArrayRef<Value> indices,
                         ArrayRef<Value> sums) {
  Values addresses, old;
  for (unsigned result : e.reducedResults()) {
    addresses.push_back(e.address(e.operandOf(result), indices));
    old.push_back(e.loadInitial(result, indices));
  }
  Values combined = e.combineSums(old, sums);
  for (auto [place, result] : llvm::enumerate(e.reducedResults()))
    e.store(e.operandOf(result), addresses[place], combined[place]);
}

void shoal::emitRowReduction(KernelEmitter &e) {
  const KernelSchedule &s = e.schedule;
  int64_t rows = e.nest.countIterations(false);
  int64_t rowsOfBlock = s.blockX / s.lanes;
  int64_t length = e.nest.countIterations(true) / s.vector;
  Values neutral = e.neutralElements(), shared = allocateForWarps(e, s.lanes);
  e.forEachBlock([&](Value block) {
    Value thread = e.threadX();
    Value row = e.add(e.mul(block, rowsOfBlock), e.div(thread, s.lanes));
    Value lane = e.rem(thread, s.lanes);
    Values indices = e.zeroIndices();
    e.setIndices(row, s.parallel, /*lastStep=*/1, indices);
    // Threads of rows that do not exist take part in shuffles all the same.
    bool isWhole = rows % rowsOfBlock == 0;
    Value end =
        isWhole ? e.constant(length) : e.select(e.isLess(row, rows), length, 0);
    Values sums = e.forLoop(lane, end, s.lanes, neutral,
                            [&](Value i, ValueRange carried) {
                              Values inner = indices, next(carried);
                              e.setIndices(i, s.reduced, s.vector, inner);
                              e.runVector(inner, next, /*areApart=*/false);
                              return next;
                            });
    sums = combineRow(e, sums, thread, s.lanes, shared);
    e.ifTrue(e.isLess(lane, 1), [&] {
      if (isWhole)
        return storeRowSums(e, indices, sums);
      e.ifTrue(e.isLess(row, rows), [&] { storeRowSums(e, indices, sums); });
    });
    // The next row's sums go to the same places.
    if (!shared.empty() && s.grid != s.blocks)
      e.barrier();
  });
}
