// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-group-rows.

#include "../Device/KernelGroup.h"
#include "RowTiles.h"
#include "shoal/Conversion/Kernels/Passes.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "shoal-group-rows"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_GROUPROWS
#include "shoal/Conversion/Kernels/Passes.h.inc"
} // namespace shoal

using namespace shoal;

static PassCounter numGroups(DEBUG_TYPE, "Kernels made of several ops");
static PassCounter numOps(DEBUG_TYPE, "Ops in kernels of several");

/// Adds the op to the group with which it shares most.
static KernelGroup *take(linalg::LinalgOp op,
                         MutableArrayRef<KernelGroup> groups,
                         KernelGroup &fresh) {
  std::optional<SmallVector<BufferAccess>> own = accessesOf(op);
  if (!own || findSharedRows(op).empty())
    return nullptr;
  KernelGroup *best = &fresh;
  int64_t most = 0;
  for (KernelGroup &group : groups) {
    SmallVector<linalg::LinalgOp> ops(group.getOps());
    int64_t bytes = countSharedBytes(op, ops);
    ops.push_back(op);
    if (bytes <= most || findSharedRows(ops).empty())
      continue;
    best = &group;
    most = bytes;
  }
  best->add(op, *own);
  return best;
}

static bool isWorth(ArrayRef<linalg::LinalgOp> ops) {
  return planRowTiles(ops).has_value();
}

namespace {

struct GroupRows : shoal::impl::GroupRowsBase<GroupRows> {
  void runOnOperation() override {
    SmallVector<Block *> blocks;
    getOperation()->walk([&](Block *block) {
      if (!isa<linalg::LinalgOp>(block->getParentOp()))
        blocks.push_back(block);
    });
    for (Block *block : blocks)
      for (rt::KernelOp kernel : makeKernels(*block, take, isWorth)) {
        auto ops = kernel.getBody().getOps<linalg::LinalgOp>();
        LDBG() << llvm::range_size(ops) << " ops, the last at "
               << sourcePlace(kernel.getLoc());
        ++numGroups;
        numOps += llvm::range_size(ops);
      }
  }
};

} // namespace
