// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Demand.h"
#include "Emit.h"
#include "Explain.h"
#include "JoinRewriter.h"
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
  Rewriter(const sparse::Forms &forms, const sparse::Demand &demand,
           sparse::Emitter &emitter)
      : forms(forms), demand(demand), emitter(emitter) {}
  /// Terms speak of ops that are replaced, up to here.
  ~Rewriter() {
    for (Operation *op : llvm::reverse(replaced))
      op->destroy();
  }

  void rewrite(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (demand.isRewritten(&op))
        rewrite(op);
      else if (op.getNumRegions() > 0)
        rewriteRegions(op);
    }
  }

private:
  void rewriteRegions(Operation &op) {
    sparse::JoinRewriter joins(&op, forms, demand, emitter);
    Operation *by = joins.isNeeded() ? joins.rewrite() : &op;
    for (Region &region : by->getRegions())
      for (Block &inner : region) {
        emitter.enterRegion();
        rewrite(inner);
        if (joins.isNeeded())
          joins.rewriteTerminator(inner.getTerminator());
        emitter.leaveRegion();
      }
    if (by == &op)
      return;
    op.remove();
    op.dropAllReferences();
    replaced.push_back(&op);
  }

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

  const sparse::Forms &forms;
  const sparse::Demand &demand;
  sparse::Emitter &emitter;
  SmallVector<Operation *> replaced;
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
    for (Block &block : function.getBody())
      sparse::analyze(block, forms);
    sparse::Demand demand(function, forms);
    sparse::Explanation explanation(function, forms, demand);
    explanation.attach();
    if (explain)
      explanation.remark();
    if (!forms.hasRewrites())
      return;
    sparse::Emitter emitter(forms, demand.getWhole());
    Rewriter rewriter(forms, demand, emitter);
    for (Block &block : function.getBody())
      rewriter.rewrite(block);
    eraseDead(function.getBody());
  }
};

} // namespace
