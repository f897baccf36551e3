// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Demand.h"
#include "Emit.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

/// Comparisons with more places cost more than a product of masks.
static constexpr size_t kMaxCompared = 8;

bool Demand::isRewritten(Operation *op) const { return rewritten.contains(op); }

void Demand::findRewritten(func::FuncOp function) {
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op->getNumResults() != 1)
      return;
    Value result = op->getResult(0);
    if (forms.lookupRewrite(result)) {
      rewritten.insert(op);
      return;
    }
    const Form *form = forms.lookup(result);
    if (!form || form->exceptions.size() > kMaxCompared)
      return;
    if (forms.isContraction(result) ||
        llvm::any_of(op->getOperands(), [&](Value operand) {
          Operation *maker = operand.getDefiningOp();
          return maker && rewritten.contains(maker);
        }))
      rewritten.insert(op);
  });
}

namespace {
/// One walk from the end of the program to its beginning.
class DemandWalk {
public:
  DemandWalk(const Demand &demand, Emitter &emitter)
      : demand(demand), emitter(emitter) {}

  void visit(Block &block) {
    for (Operation &op : llvm::reverse(block))
      visit(op);
  }

private:
  void visit(Operation &op) {
    bool isLive = !wouldOpBeTriviallyDead(&op) ||
                  llvm::any_of(op.getResults(), [&](Value result) {
                    return emitter.read.contains(result);
                  });
    if (!isLive)
      return;
    if (demand.isRewritten(&op)) {
      emitter.emitTensor(op.getResult(0));
      return;
    }
    for (Region &region : op.getRegions())
      for (Block &block : region) {
        emitter.enterRegion();
        visit(block);
        emitter.leaveRegion();
      }
    emitter.read.insert(op.operand_begin(), op.operand_end());
  }

  const Demand &demand;
  Emitter &emitter;
};
} // namespace

llvm::DenseSet<Value> Demand::walk(func::FuncOp function) {
  Emitter emitter(forms, whole);
  for (Block &block : function.getBody())
    DemandWalk(*this, emitter).visit(block);
  sampled = std::move(emitter.sampled);
  return std::move(emitter.read);
}

Demand::Demand(func::FuncOp function, Forms &forms) : forms(forms) {
  findRewritten(function);
  // What one walk finds whole, others need not expand. Mostly two are enough.
  constexpr int kMaxWalks = 4;
  for (int i = 0; i < kMaxWalks; ++i) {
    llvm::DenseSet<Value> next = walk(function);
    bool isSame = next == whole;
    whole = std::move(next);
    if (isSame)
      break;
  }
}
