// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-fuse-rows.

#include "../Buffers/BufferAccess.h"
#include "RowGroup.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "shoal/Conversion/Device/Passes.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
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

/// Ops that a group moves behind, at most, and groups that are looked at
/// together.
static constexpr unsigned kMaxPassed = 16;
static constexpr unsigned kMaxGroups = 4;

namespace {

/// Ops of a block that are to be one kernel, in the place of the last one.
class Group {
public:
  explicit Group(const DeviceLimits &limits) : limits(&limits) {}

  /// Adds the op if that leaves a group: the first one is a reduction, another
  /// one touches what the group has already.
  bool add(linalg::GenericOp op);
  /// Whether the group's place may be behind `op`, which is none of it.
  bool pass(Operation *op);
  void close();

private:
  const DeviceLimits *limits;
  SmallVector<linalg::GenericOp> ops;
  SmallVector<BufferAccess> accesses;
  unsigned passed = 0;
};

} // namespace

/// Whether op `number` has a buffer in common with one before that is more than
/// one element for all of them.
static bool sharesBuffer(const RowGroup &group) {
  unsigned number = group.phases.size() - 1;
  return llvm::any_of(group.slots, [&](const RowSlot &slot) {
    bool isRowWise = !slot.isScalar || slot.lastWrite;
    return isRowWise && slot.last == number && slot.first < number;
  });
}

bool Group::add(linalg::GenericOp op) {
  std::optional<SmallVector<BufferAccess>> own = accessesOf(op);
  if (!own || (ops.empty() && op.getNumReductionLoops() == 0))
    return false;
  ops.push_back(op);
  std::optional<RowGroup> group = analyzeRowGroup(ops, *limits);
  if (!group || (ops.size() > 1 && !sharesBuffer(*group))) {
    ops.pop_back();
    return false;
  }
  llvm::append_range(accesses, *own);
  return true;
}

bool Group::pass(Operation *op) {
  if (isMemoryEffectFree(op) || isa<memref::AllocOp>(op))
    return true;
  auto call = dyn_cast<rt::RuntimeCallOpInterface>(op);
  std::optional<SmallVector<BufferAccess>> own = accessesOf(op);
  return own && !(call && call.getCollectiveNumber()) &&
         !op->hasTrait<OpTrait::IsTerminator>() && ++passed <= kMaxPassed &&
         !conflict(accesses, *own);
}

/// Makes a buffer that the kernel alone uses one without memory.
static void makeLocal(memref::AllocOp alloc, rt::KernelOp kernel) {
  if (!llvm::all_of(alloc->getUsers(), [&](Operation *user) {
        return user->getParentOp() == kernel;
      }))
    return;
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  Value local =
      memref::AllocaOp::create(builder, alloc.getLoc(), alloc.getType());
  alloc->replaceAllUsesWith(ValueRange(local));
  alloc.erase();
}

void Group::close() {
  if (ops.size() > 1) {
    OpBuilder builder(ops.back());
    SmallVector<Location> places;
    for (linalg::GenericOp op : ops)
      places.push_back(op.getLoc());
    LDBG() << ops.size() << " ops, the first at "
           << sourcePlace(ops.front().getLoc()) << ", the last at "
           << sourcePlace(ops.back().getLoc());
    ++numKernels;
    numOps += ops.size();
    auto kernel = rt::KernelOp::create(builder, builder.getFusedLoc(places));
    Block *body = builder.createBlock(&kernel.getBody());
    llvm::SetVector<memref::AllocOp> buffers;
    for (linalg::GenericOp op : ops) {
      op->moveBefore(body, body->end());
      for (Value operand : op->getOperands())
        if (auto alloc = operand.getDefiningOp<memref::AllocOp>())
          buffers.insert(alloc);
    }
    for (memref::AllocOp alloc : llvm::reverse(buffers))
      makeLocal(alloc, kernel);
  }
}

/// Goes through a block with the groups that may still grow.
static void fuseRows(Block &block, const DeviceLimits &limits) {
  SmallVector<Group> groups;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto generic = dyn_cast<linalg::GenericOp>(op);
    Group *joined = nullptr;
    for (Group &group : llvm::reverse(groups))
      if (generic && !joined && group.add(generic))
        joined = &group;
    llvm::erase_if(groups, [&](Group &group) {
      bool stays = &group == joined || group.pass(&op);
      if (!stays)
        group.close();
      return !stays;
    });
    Group fresh(limits);
    if (!generic || joined || !fresh.add(generic))
      continue;
    if (groups.size() == kMaxGroups) {
      groups.front().close();
      groups.erase(groups.begin());
    }
    groups.push_back(std::move(fresh));
  }
  for (Group &group : groups)
    group.close();
}

namespace {

struct FuseRows : shoal::impl::FuseRowsBase<FuseRows> {
  using FuseRowsBase::FuseRowsBase;

  void runOnOperation() override {
    SmallVector<Block *> blocks;
    getOperation()->walk([&](Block *block) { blocks.push_back(block); });
    for (Block *block : blocks)
      fuseRows(*block, machineOf(machine).limits);
  }
};

} // namespace
