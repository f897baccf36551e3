// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-insert-waits.

#include "../Buffers/BufferAccess.h"
#include "shoal/Conversion/Kernels/Passes.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "shoal-insert-waits"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_INSERTWAITS
#include "shoal/Conversion/Kernels/Passes.h.inc"
} // namespace shoal

using namespace shoal;

static PassCounter numCollectives(DEBUG_TYPE,
                                  "Collectives that run in the background");
static PassCounter numWaits(DEBUG_TYPE, "Waits inserted");

namespace {

/// Goes through a block with the collectives that are under way.
class Waiter {
public:
  void visit(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block))
      visit(op);
  }

private:
  struct Pending {
    int64_t collective;
    SmallVector<BufferAccess> accesses;
  };

  void visit(Operation &op) {
    // Collectives run in the order of the program anyway.
    if (auto call = dyn_cast<rt::RuntimeCallOpInterface>(op))
      if (std::optional<int64_t> number = call.getCollectiveNumber()) {
        pending.push_back({*number, *accessesOf(&op)});
        ++numCollectives;
        return;
      }
    std::optional<SmallVector<BufferAccess>> accesses = accessesOf(&op);
    if (!accesses || op.hasTrait<OpTrait::IsTerminator>())
      waitForAll(op);
    else
      waitFor(op, *accesses);
    for (Region &region : op.getRegions())
      for (Block &block : region)
        Waiter().visit(block);
  }

  /// The last one that conflicts: those before it have then ended, too.
  void waitFor(Operation &op, ArrayRef<BufferAccess> accesses) {
    for (size_t i = pending.size(); i-- > 0;)
      if (conflict(pending[i].accesses, accesses))
        return wait(op, i, "touches what it reads or writes");
  }

  void waitForAll(Operation &op) {
    if (!pending.empty())
      wait(op, pending.size() - 1, "may touch anything, or ends the block");
  }

  void wait(Operation &op, size_t number, StringRef reason) {
    LDBG() << "waits for collective " << pending[number].collective
           << " in front of " << op.getName() << " at "
           << sourcePlace(op.getLoc()) << ", which " << reason;
    ++numWaits;
    OpBuilder builder(&op);
    rt::WaitOp::create(builder, op.getLoc(), pending[number].collective);
    pending.erase(pending.begin(), pending.begin() + number + 1);
  }

  /// In the order in which they began.
  SmallVector<Pending> pending;
};

struct InsertWaits : shoal::impl::InsertWaitsBase<InsertWaits> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (!func.isPublic() || func.isExternal())
      return;
    for (Block &block : func.getBody())
      Waiter().visit(block);
  }
};

} // namespace
