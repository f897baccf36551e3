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
  explicit Waiter(const rt::CollectiveStreams &streams) : streams(streams) {}

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
    auto call = dyn_cast<rt::RuntimeCallOpInterface>(op);
    std::optional<int64_t> number =
        call ? call.getCollectiveNumber() : std::nullopt;
    std::optional<SmallVector<BufferAccess>> accesses = accessesOf(&op);
    if (number) {
      begin(op, *number, std::move(*accesses));
      return;
    }
    if (!accesses || op.hasTrait<OpTrait::IsTerminator>())
      waitForAll(op);
    else
      for (auto &[stream, underWay] : pending)
        waitFor(op, *accesses, underWay);
    for (Region &region : op.getRegions())
      for (Block &block : region)
        Waiter(streams).visit(block);
  }

  /// A collective begins behind all work that comes before it, and behind those
  /// before it in its stream.
  void begin(Operation &op, int64_t number,
             SmallVector<BufferAccess> accesses) {
    int64_t own = streams.of(number);
    for (auto &[stream, underWay] : pending)
      if (stream != own)
        waitFor(op, accesses, underWay);
    pending[own].push_back({number, std::move(accesses)});
    ++numCollectives;
  }

  /// The last one that conflicts: those before it in its stream have then
  /// ended, too.
  static void waitFor(Operation &op, ArrayRef<BufferAccess> accesses,
                      SmallVectorImpl<Pending> &underWay) {
    for (size_t i = underWay.size(); i-- > 0;)
      if (conflict(underWay[i].accesses, accesses))
        return wait(op, underWay, i, "touches what it reads or writes");
  }

  void waitForAll(Operation &op) {
    for (auto &[stream, underWay] : pending)
      if (!underWay.empty())
        wait(op, underWay, underWay.size() - 1,
             "may touch anything, or ends the block");
  }

  static void wait(Operation &op, SmallVectorImpl<Pending> &underWay,
                   size_t number, StringRef reason) {
    LDBG() << "waits for collective " << underWay[number].collective
           << " in front of " << op.getName() << " at "
           << sourcePlace(op.getLoc()) << ", which " << reason;
    ++numWaits;
    OpBuilder builder(&op);
    rt::WaitOp::create(builder, op.getLoc(), underWay[number].collective);
    underWay.erase(underWay.begin(), underWay.begin() + number + 1);
  }

  const rt::CollectiveStreams &streams;
  /// Of each stream, in the order in which they began.
  llvm::MapVector<int64_t, SmallVector<Pending>> pending;
};

struct InsertWaits : shoal::impl::InsertWaitsBase<InsertWaits> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (!func.isPublic() || func.isExternal())
      return;
    rt::CollectiveStreams streams(func);
    for (Block &block : func.getBody())
      Waiter(streams).visit(block);
  }
};

} // namespace
