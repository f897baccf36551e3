// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Demand.h"
#include "Emit.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "shoal/Interfaces/PartitionInterfaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

/// Comparisons with more places cost more than a product of masks.
static constexpr size_t kMaxCompared = 8;

bool Demand::isRewritten(Operation *op) const { return rewritten.contains(op); }

void Demand::findRewritten(func::FuncOp function) {
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op->getNumResults() != 1 || op->getNumRegions() > 0)
      return;
    Value result = op->getResult(0);
    if (forms.isForReaders(result))
      return;
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

static bool isAnyIn(const llvm::DenseSet<Value> &set, ArrayRef<Value> values) {
  return llvm::any_of(values, [&](Value value) { return set.contains(value); });
}

bool Demand::isReplaced(Operation *op, const JoinedForm &joined) const {
  Join join = cast<JoinOpInterface>(op).getJoins()[joined.join];
  return !isAnyIn(whole, join.values);
}

bool Demand::isCarried(const CarriedTerm &term) const {
  return isAnyIn(whole, term.standIns);
}

namespace {
/// One walk from the end of the program to its beginning.
class DemandWalk {
public:
  DemandWalk(const Demand &demand, const Forms &forms, Emitter &emitter)
      : demand(demand), forms(forms), emitter(emitter) {}

  void visit(Block &block) {
    for (Operation &op : llvm::reverse(block))
      visit(op);
  }

private:
  void visit(Operation &op);
  void visitRegions(Operation &op);
  bool isRead(Operation &op) const;
  bool isRead(ArrayRef<Value> values) const {
    return isAnyIn(emitter.read, values) || isAnyIn(demand.getWhole(), values);
  }
  /// Of what `reader` gives to its op's joins or those of the op around it.
  void readSources(Operation &reader, Operation *joins);

  const Demand &demand;
  const Forms &forms;
  Emitter &emitter;
};
} // namespace

bool DemandWalk::isRead(Operation &op) const {
  if (!wouldOpBeTriviallyDead(&op) ||
      isAnyIn(emitter.read, llvm::to_vector_of<Value>(op.getResults())))
    return true;
  return llvm::any_of(forms.lookupJoined(&op), [&](const JoinedForm &joined) {
    return llvm::any_of(joined.carried, [&](const CarriedTerm &term) {
      return isAnyIn(emitter.read, term.standIns);
    });
  });
}

void DemandWalk::visitRegions(Operation &op) {
  for (Region &region : op.getRegions())
    for (Block &block : region) {
      emitter.enterRegion();
      visit(block);
      emitter.leaveRegion();
    }
}

/// A loop reads at its end what it will be asked for at its beginning: the next
/// walk finds that whole.
void DemandWalk::readSources(Operation &reader, Operation *joins) {
  llvm::SmallDenseSet<OpOperand *> unread;
  ArrayRef<JoinedForm> joinedForms =
      joins ? forms.lookupJoined(joins) : ArrayRef<JoinedForm>();
  SmallVector<Join> all;
  if (!joinedForms.empty())
    all = cast<JoinOpInterface>(joins).getJoins();
  for (const JoinedForm &joined : joinedForms) {
    const Join &join = all[joined.join];
    for (auto [i, source] : llvm::enumerate(join.sources)) {
      if (source->getOwner() != &reader)
        continue;
      if (!isRead(join.values))
        unread.insert(source);
      for (const CarriedTerm &term : joined.carried)
        if (isRead(term.standIns))
          emitter.emitOver(term.sources[i], term.dims);
    }
  }
  for (OpOperand &operand : reader.getOpOperands())
    if (!unread.contains(&operand))
      emitter.read.insert(operand.get());
}

void DemandWalk::visit(Operation &op) {
  if (op.hasTrait<OpTrait::IsTerminator>())
    return readSources(op, op.getParentOp());
  if (!isRead(op))
    return;
  if (demand.isRewritten(&op)) {
    emitter.emitTensor(op.getResult(0));
    return;
  }
  visitRegions(op);
  readSources(op, &op);
}

llvm::DenseSet<Value> Demand::walk(func::FuncOp function) {
  Emitter emitter(forms, whole);
  for (Block &block : function.getBody())
    DemandWalk(*this, forms, emitter).visit(block);
  sampled = std::move(emitter.sampled);
  return std::move(emitter.read);
}

void Demand::carryAll(func::FuncOp function) {
  SmallVector<Value> standIns;
  function.walk([&](Operation *op) {
    for (const JoinedForm &joined : forms.lookupJoined(op))
      for (const CarriedTerm &term : joined.carried)
        llvm::append_range(standIns, term.standIns);
  });
  if (standIns.empty())
    return;
  whole.insert_range(standIns);
  llvm::DenseSet<Value> read = walk(function);
  whole.insert_range(read);
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
      return;
  }
  carryAll(function);
}
