// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelGroup.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace shoal;

/// Ops that a group moves behind, at most, and groups that are looked at
/// together.
static constexpr unsigned kMaxPassed = 16;
static constexpr unsigned kMaxGroups = 4;

void KernelGroup::add(linalg::LinalgOp op, ArrayRef<BufferAccess> own) {
  ops.push_back(op);
  llvm::append_range(accesses, own);
}

bool KernelGroup::pass(Operation *op) {
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

rt::KernelOp KernelGroup::close() {
  OpBuilder builder(ops.back());
  SmallVector<Location> places;
  for (linalg::LinalgOp op : ops)
    places.push_back(op.getLoc());
  auto kernel = rt::KernelOp::create(builder, builder.getFusedLoc(places));
  Block *body = builder.createBlock(&kernel.getBody());
  llvm::SetVector<memref::AllocOp> buffers;
  for (linalg::LinalgOp op : ops) {
    op->moveBefore(body, body->end());
    for (Value operand : op->getOperands())
      if (auto alloc = operand.getDefiningOp<memref::AllocOp>())
        buffers.insert(alloc);
  }
  for (memref::AllocOp alloc : llvm::reverse(buffers))
    makeLocal(alloc, kernel);
  return kernel;
}

SmallVector<rt::KernelOp> shoal::makeKernels(Block &block, TakeOp take,
                                             IsKernel isKernel) {
  SmallVector<rt::KernelOp> kernels;
  SmallVector<KernelGroup> groups;
  auto close = [&](KernelGroup &group) {
    if (group.getOps().size() > 1 && isKernel(group.getOps()))
      kernels.push_back(group.close());
  };
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    KernelGroup fresh;
    KernelGroup *taken = linalgOp ? take(linalgOp, groups, fresh) : nullptr;
    llvm::erase_if(groups, [&](KernelGroup &group) {
      bool stays = &group == taken || group.pass(&op);
      if (!stays)
        close(group);
      return !stays;
    });
    if (taken != &fresh)
      continue;
    if (groups.size() == kMaxGroups) {
      close(groups.front());
      groups.erase(groups.begin());
    }
    groups.push_back(std::move(fresh));
  }
  for (KernelGroup &group : groups)
    close(group);
  return kernels;
}
