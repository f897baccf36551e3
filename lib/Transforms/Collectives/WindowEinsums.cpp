// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SpmdFunctions.h"
#include "WindowedEinsum.h"
#include "shoal/CostModel/ProgramCost.h"
#include "shoal/Dialect/Shoal/IR/MeshAnalysis.h"
#include "shoal/Transforms/Collectives/Passes.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/Support/DebugLog.h"

namespace shoal {
#define GEN_PASS_DEF_WINDOWEINSUMS
#include "shoal/Transforms/Collectives/Passes.h.inc"
} // namespace shoal

#define DEBUG_TYPE "shoal-window-einsums"

using namespace mlir;
using namespace shoal;

static PassCounter numLoops(DEBUG_TYPE,
                            "Loops made of einsums and a collective");
static PassCounter numKept(DEBUG_TYPE, "Values above the limit that stay");

namespace {

struct WindowEinsums : shoal::impl::WindowEinsumsBase<WindowEinsums> {
  using WindowEinsumsBase::WindowEinsumsBase;

  void runOnOperation() override {
    for (func::FuncOp function : spmdFunctions(getOperation())) {
      const Mesh *mesh = getAnalysis<MeshAnalysis>().getMesh();
      if (!mesh)
        return signalPassFailure();
      window(function, *mesh);
    }
  }

private:
  struct Candidate {
    int64_t bytes;
    size_t number;
    Operation *op;
    std::optional<Obstacle> equality = std::nullopt;

    /// The largest first, as an einsum can be in one loop only; equal ones in
    /// program order.
    bool operator<(const Candidate &other) const {
      return std::pair(-bytes, number) < std::pair(-other.bytes, other.number);
    }
  };

  void window(func::FuncOp function, const Mesh &mesh) {
    SmallVector<Candidate> candidates;
    function.walk([&](Operation *op) {
      if (Value whole = findWhole(op))
        if (int64_t size = sizeInBytes(whole.getType()); size > bytes)
          candidates.push_back({size, candidates.size(), op});
    });
    if (candidates.empty())
      return;
    llvm::sort(candidates);
    // Before the first loop: behind one, values no longer count as equal.
    Uniformity uniformity(function, mesh);
    for (Candidate &candidate : candidates)
      if (auto gather = dyn_cast<spmd::AllGatherOp>(candidate.op))
        candidate.equality = GatherWindow(gather).findEquality(uniformity);
    for (const Candidate &candidate : candidates) {
      if (auto gather = dyn_cast<spmd::AllGatherOp>(candidate.op))
        run(GatherWindow(gather), candidate);
      else
        run(ScatterWindow(cast<spmd::ReduceScatterOp>(candidate.op)),
            candidate);
    }
  }

  /// What between a collective and an einsum a loop need not hold.
  static Value findWhole(Operation *op) {
    auto isEinsum = [](Operation *user) { return isa<EinsumOp>(user); };
    if (auto gather = dyn_cast<spmd::AllGatherOp>(op))
      return llvm::any_of(gather->getUsers(), isEinsum) ? gather.getResult()
                                                        : Value();
    if (auto scatter = dyn_cast<spmd::ReduceScatterOp>(op))
      return scatter.getInput().getDefiningOp<EinsumOp>() ? scatter.getInput()
                                                          : Value();
    return {};
  }

  template <typename Window>
  void run(Window window, const Candidate &candidate) {
    std::optional<Obstacle> obstacle = window.findObstacle();
    if (!obstacle)
      obstacle = candidate.equality;
    if (!obstacle && !overlap)
      if (int64_t held = window.heldBytes(); held >= candidate.bytes)
        obstacle = {"it would hold " + std::to_string(held) + " bytes"};
    ++(obstacle ? numKept : numLoops);
    if (!obstacle) {
      LDBG() << candidate.op->getName() << " at " << candidate.op->getLoc()
             << ": a loop holds " << window.heldBytes() << " bytes instead of "
             << candidate.bytes;
      return window.rewrite();
    }
    InFlightDiagnostic remark = candidate.op->emitRemark()
                                << "no loop instead of " << candidate.bytes
                                << " bytes: " << obstacle->reason;
    if (obstacle->culprit)
      remark.attachNote(*obstacle->culprit) << "this is in the way";
  }
};

} // namespace
