// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-fuse-rows.

#include "KernelGroup.h"
#include "RowGroup.h"
#include "shoal/Conversion/Device/Passes.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "shoal-fuse-rows"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_FUSEROWS
#include "shoal/Conversion/Device/Passes.h.inc"
} // namespace shoal

using namespace shoal;

static PassCounter numKernels(DEBUG_TYPE, "Kernels made of several ops");
static PassCounter numOps(DEBUG_TYPE, "Ops in kernels of several");

/// Whether op `number` has a buffer in common with one before that is more than
/// one element for all of them.
static bool sharesBuffer(const RowGroup &group) {
  unsigned number = group.phases.size() - 1;
  return llvm::any_of(group.slots, [&](const RowSlot &slot) {
    bool isRowWise = !slot.isScalar || slot.lastWrite;
    return isRowWise && slot.last == number && slot.first < number;
  });
}

/// Adds the op if that leaves a group: the first one is a reduction, another
/// one touches what the group has already.
static bool add(KernelGroup &group, linalg::GenericOp op,
                const DeviceLimits &limits) {
  std::optional<SmallVector<BufferAccess>> own = accessesOf(op);
  if (!own || (group.getOps().empty() && op.getNumReductionLoops() == 0))
    return false;
  SmallVector<linalg::GenericOp> ops;
  for (linalg::LinalgOp other : group.getOps())
    ops.push_back(cast<linalg::GenericOp>(other));
  ops.push_back(op);
  std::optional<RowGroup> rows = analyzeRowGroup(ops, limits);
  if (!rows || (ops.size() > 1 && !sharesBuffer(*rows)))
    return false;
  group.add(op, *own);
  return true;
}

namespace {

struct FuseRows : shoal::impl::FuseRowsBase<FuseRows> {
  using FuseRowsBase::FuseRowsBase;

  void runOnOperation() override {
    SmallVector<Block *> blocks;
    getOperation()->walk([&](Block *block) { blocks.push_back(block); });
    const DeviceLimits &limits = machineOf(machine).limits;
    auto take = [&](linalg::LinalgOp op, MutableArrayRef<KernelGroup> groups,
                    KernelGroup &fresh) -> KernelGroup * {
      auto generic = dyn_cast<linalg::GenericOp>(*op);
      if (!generic)
        return nullptr;
      for (KernelGroup &group : llvm::reverse(groups))
        if (add(group, generic, limits))
          return &group;
      return add(fresh, generic, limits) ? &fresh : nullptr;
    };
    auto isKernel = [](ArrayRef<linalg::LinalgOp>) { return true; };
    for (Block *block : blocks)
      for (rt::KernelOp kernel : makeKernels(*block, take, isKernel)) {
        auto ops = kernel.getBody().getOps<linalg::LinalgOp>();
        LDBG() << llvm::range_size(ops) << " ops, the last at "
               << sourcePlace(kernel.getLoc());
        ++numKernels;
        numOps += llvm::range_size(ops);
      }
  }
};

} // namespace
