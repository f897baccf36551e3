// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-overlap-collectives.

#include "BlockSchedule.h"
#include "JoinedBuffers.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "shoal/Conversion/Memory/Passes.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "shoal-overlap-collectives"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_OVERLAPCOLLECTIVES
#include "shoal/Conversion/Memory/Passes.h.inc"
} // namespace shoal

using namespace shoal;

static PassCounter numBlockParts(DEBUG_TYPE,
                                 "Parts of blocks with collectives");
static PassCounter numReordered(DEBUG_TYPE, "Parts that got another order");
static PassCounter numRejected(DEBUG_TYPE, "Orders that need too much memory");

/// The parts between fences that have collectives, of all blocks.
static std::vector<BlockSchedule> findSchedules(func::FuncOp func,
                                                const Machine &machine) {
  std::vector<BlockSchedule> schedules;
  func.walk([&](Block *block) {
    // What is in a kernel has nothing to move.
    if (isa<linalg::LinalgOp, rt::KernelOp>(block->getParentOp()) ||
        block->empty())
      return;
    for (Operation *op = &block->front(); op;) {
      BlockSchedule schedule(op, machine);
      op = schedule.getFence()->getNextNode();
      if (schedule.hasCollectives())
        schedules.push_back(std::move(schedule));
    }
  });
  return schedules;
}

/// What buffers take for the order that the ops have; nothing where they cannot
/// be planned, which is the plan's error to report.
static std::optional<MemorySize> measureMemory(func::FuncOp func) {
  Places places(func);
  FailureOr<BufferPlan> plan =
      planBuffers(func, places, [](memref::AllocOp) {});
  if (failed(plan))
    return std::nullopt;
  return plan->size;
}

/// How many ops have another place in the order than they had.
static int64_t countMoved(ArrayRef<unsigned> order) {
  return llvm::count_if(llvm::enumerate(order), [](auto entry) {
    return entry.index() != entry.value();
  });
}

/// Gives the part the order that moves ops farthest while the arena has no more
/// than `limit` bytes.
static void reorder(BlockSchedule &schedule, func::FuncOp func, int64_t limit) {
  LDBG() << "the part that ends at "
         << sourcePlace(schedule.getFence()->getLoc());
  ++numBlockParts;
  for (int64_t window :
       {INT64_MAX, int64_t(64), int64_t(16), int64_t(4), int64_t(0)}) {
    SmallVector<unsigned> order = schedule.order(window);
    schedule.apply(order);
    std::optional<MemorySize> size = measureMemory(func);
    int64_t arena = size ? size->arena : INT64_MAX;
    bool fits = arena <= limit;
    LDBG() << "  " << countMoved(order) << " of " << order.size()
           << " ops elsewhere: an arena of " << arena << " bytes, of " << limit
           << " allowed" << (fits ? "" : ": rejected");
    numRejected += !fits;
    if (!fits)
      continue;
    numReordered += countMoved(order) != 0;
    return;
  }
}

namespace {

struct OverlapCollectives
    : shoal::impl::OverlapCollectivesBase<OverlapCollectives> {
  using OverlapCollectivesBase::OverlapCollectivesBase;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal() || !func.isPublic())
      return;
    std::vector<BlockSchedule> schedules =
        findSchedules(func, machineOf(machine));
    if (schedules.empty())
      return;
    std::optional<MemorySize> size = measureMemory(func);
    if (!size)
      return;
    int64_t limit = size->arena + spareForBackground(func, *size);
    // One part after another: where one needs memory, others may move.
    for (BlockSchedule &schedule : schedules)
      reorder(schedule, func, limit);
  }
};

} // namespace
