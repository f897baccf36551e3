// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-overlap-collectives.

#include "JoinedBuffers.h"
#include "ListScheduler.h"
#include "OpSeconds.h"
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
                                                DurationOf durationOf) {
  std::vector<BlockSchedule> schedules;
  rt::CollectiveStreams streams(func);
  func.walk([&](Block *block) {
    // What is in a kernel has nothing to move.
    if (isa<linalg::LinalgOp, rt::KernelOp>(block->getParentOp()) ||
        block->empty())
      return;
    for (Operation *op = &block->front(); op;) {
      BlockSchedule schedule(op, durationOf, streams);
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

/// Bytes that are live beside the part's own buffers, at most.
static int64_t countBytesBeside(const BlockSchedule &schedule,
                                func::FuncOp func) {
  Places places(func);
  FailureOr<SmallVector<Buffer>> buffers =
      findBuffers(func, places, [](memref::AllocOp) {});
  if (failed(buffers))
    return 0;
  std::vector<int64_t> own = schedule.listLiveBytes();
  int64_t most = 0;
  for (auto [number, node] : llvm::enumerate(schedule.getNodes())) {
    int64_t place = places[node.op].first, live = -own[number];
    for (const Buffer &buffer : *buffers)
      if (!buffer.isResult() && buffer.first <= place && place <= buffer.last)
        live += buffer.bytes;
    most = std::max(most, live);
  }
  return most;
}

/// From the order that moves ops farthest, whatever it needs, to the one that
/// there is: what buffers take that lie in each other, and gaps between them,
/// is known of an order's plan alone.
static SmallVector<OrderLimits> listLimits(int64_t bytes) {
  SmallVector<OrderLimits> limits = {OrderLimits()};
  for (double share : {1.0, 0.97, 0.93, 0.88})
    limits.push_back({INT64_MAX, int64_t(share * double(bytes))});
  for (int64_t window : {64, 16, 4, 0})
    limits.push_back({window, bytes});
  return limits;
}

/// Gives the part the order that moves ops farthest while the arena has no more
/// than `limit` bytes.
static void reorder(BlockSchedule &schedule, func::FuncOp func, int64_t limit) {
  LDBG() << "the part that ends at "
         << sourcePlace(schedule.getFence()->getLoc());
  ++numBlockParts;
  int64_t beside = countBytesBeside(schedule, func);
  for (const OrderLimits &limits : listLimits(limit - beside)) {
    SmallVector<unsigned> order = orderOps(schedule, limits);
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
  OverlapCollectives(const OverlapCollectivesOptions &options,
                     OpDurations durations)
      : OverlapCollectivesBase(options), durations(std::move(durations)) {}

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (memory == 0 || func.isExternal() || !func.isPublic())
      return;
    std::vector<BlockSchedule> schedules =
        findSchedules(func, [&](Operation *op) { return durationOf(op); });
    if (schedules.empty())
      return;
    std::optional<MemorySize> size = measureMemory(func);
    if (!size)
      return;
    int64_t limit = size->arena + spareForBackground(func, *size, memory);
    // One part after another: where one needs memory, others may move.
    for (BlockSchedule &schedule : schedules)
      reorder(schedule, func, limit);
  }

private:
  OpDuration durationOf(Operation *op) const {
    std::optional<OpDuration> known = durations ? durations(op) : std::nullopt;
    return known ? *known : OpDuration{estimateSeconds(op, machineOf(machine))};
  }

  OpDurations durations;
};

} // namespace

std::unique_ptr<Pass>
shoal::createOverlapCollectives(const OverlapCollectivesOptions &options,
                                OpDurations durations) {
  return std::make_unique<OverlapCollectives>(options, std::move(durations));
}
