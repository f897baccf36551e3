// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Demand.h"
#include "Emit.h"
#include "Explain.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "shoal/Transforms/Sparse/Passes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/DebugLog.h"

namespace shoal {
#define GEN_PASS_DEF_SPARSIFYEINSUMS
#include "shoal/Transforms/Sparse/Passes.h.inc"
} // namespace shoal

#define DEBUG_TYPE "shoal-sparsify-einsums"

using namespace mlir;
using namespace shoal;

static PassCounter numRewritten(DEBUG_TYPE, "Tensors made from rows");

namespace {

class Rewriter {
public:
  Rewriter(const sparse::Demand &demand, sparse::Emitter &emitter)
      : demand(demand), emitter(emitter) {}

  void rewrite(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (demand.isRewritten(&op)) {
        rewrite(op);
        continue;
      }
      for (Region &region : op.getRegions())
        for (Block &inner : region) {
          emitter.enterRegion();
          rewrite(inner);
          emitter.leaveRegion();
        }
    }
  }

private:
  void rewrite(Operation &op) {
    Value result = op.getResult(0);
    if (!demand.getWhole().contains(result))
      return;
    LDBG() << op.getName() << " at " << op.getLoc();
    OpBuilder builder(&op);
    emitter.setBuilder(&builder, op.getLoc());
    Value by = emitter.emitTensor(result);
    result.replaceAllUsesWith(by);
    emitter.replace(result, by);
    ++numRewritten;
  }

  const sparse::Demand &demand;
  sparse::Emitter &emitter;
};

/// Users before what they use.
void eraseDead(Region &region) {
  for (Block &block : region)
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
      for (Region &inner : op.getRegions())
        eraseDead(inner);
      if (isOpTriviallyDead(&op))
        op.erase();
    }
}

struct SparsifyEinsums : shoal::impl::SparsifyEinsumsBase<SparsifyEinsums> {
  using SparsifyEinsumsBase::SparsifyEinsumsBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    sparse::Terms terms(&getContext());
    sparse::Forms forms(terms, minGain);
    function.walk<WalkOrder::PreOrder>(
        [&](Operation *op) { forms.analyze(op); });
    sparse::Demand demand(function, forms);
    sparse::Explanation explanation(function, forms, demand);
    explanation.attach();
    if (explain)
      explanation.remark();
    if (!forms.hasRewrites())
      return;
    sparse::Emitter emitter(forms, demand.getWhole());
    Rewriter rewriter(demand, emitter);
    for (Block &block : function.getBody())
      rewriter.rewrite(block);
    eraseDead(function.getBody());
  }
};

} // namespace
