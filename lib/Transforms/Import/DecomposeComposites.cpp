// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/PatternMatch.h"
#include "shoal/Dialect/Shoal/IR/Shoal.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "shoal/Transforms/Import/Decompose.h"
#include "shoal/Transforms/Import/Passes.h"
#include "llvm/Support/DebugLog.h"

namespace shoal {
#define GEN_PASS_DEF_DECOMPOSECOMPOSITES
#include "shoal/Transforms/Import/Passes.h.inc"
} // namespace shoal

#define DEBUG_TYPE "shoal-decompose-composites"

using namespace mlir;
using namespace shoal;

static PassCounter numDecomposed(DEBUG_TYPE, "Composites written out");

namespace {

/// Collects the composites that a decomposition itself uses.
class NewComposites : public OpBuilder::Listener {
public:
  explicit NewComposites(SmallVectorImpl<CompositeOpInterface> &worklist)
      : worklist(worklist) {}
  void notifyOperationInserted(Operation *op,
                               OpBuilder::InsertPoint previous) override {
    if (auto composite = dyn_cast<CompositeOpInterface>(op))
      worklist.push_back(composite);
  }

private:
  SmallVectorImpl<CompositeOpInterface> &worklist;
};

struct DecomposeComposites
    : shoal::impl::DecomposeCompositesBase<DecomposeComposites> {
  void runOnOperation() override { decomposeComposites(getOperation()); }
};

} // namespace

void shoal::decomposeComposites(Operation *root,
                                function_ref<bool(Operation *)> keeps) {
  SmallVector<CompositeOpInterface> worklist;
  root->walk([&](CompositeOpInterface op) { worklist.push_back(op); });
  NewComposites listener(worklist);
  OpBuilder builder(root->getContext(), &listener);
  while (!worklist.empty()) {
    CompositeOpInterface op = worklist.pop_back_val();
    if (keeps(op))
      continue;
    LDBG() << "writes out " << op->getName() << " at " << op->getLoc();
    ++numDecomposed;
    builder.setInsertionPoint(op);
    op->replaceAllUsesWith(op.decompose(builder));
    op->erase();
  }
}
