// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "JoinRewriter.h"
#include "mlir/IR/BuiltinOps.h"
#include "shoal/Interfaces/PartitionInterfaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

static std::pair<Operation *, unsigned> placeOf(OpOperand *operand) {
  return {operand->getOwner(), operand->getOperandNumber()};
}

JoinRewriter::JoinRewriter(Operation *op, const Forms &forms,
                           const Demand &demand, Emitter &emitter)
    : op(op), emitter(emitter) {
  ArrayRef<JoinedForm> joinedForms = forms.lookupJoined(op);
  if (joinedForms.empty())
    return;
  SmallVector<Join> joins = cast<JoinOpInterface>(op).getJoins();
  for (const JoinedForm &joined : joinedForms) {
    const Join &join = joins[joined.join];
    for (const CarriedTerm &term : joined.carried)
      if (demand.isCarried(term))
        added.push_back({&term, llvm::map_to_vector<2>(join.sources, placeOf),
                         join.values});
    if (!demand.isReplaced(op, joined))
      continue;
    llvm::append_range(dropped, join.values);
    for (OpOperand *source : join.sources)
      droppedOperands.push_back(placeOf(source));
  }
}

/// What a value is that nobody may read, until its readers are erased.
static Value makeUnread(OpBuilder &builder, Location loc, Type type) {
  return UnrealizedConversionCastOp::create(builder, loc, type, ValueRange())
      .getResult(0);
}

/// The reader's operands without those that go, and with what is carried from
/// there.
SmallVector<Value> JoinRewriter::sourcesIn(Operation *reader) {
  OpBuilder builder(reader);
  emitter.setBuilder(&builder, reader->getLoc());
  SmallVector<Value> operands;
  for (OpOperand &operand : reader->getOpOperands())
    if (!llvm::is_contained(droppedOperands, placeOf(&operand)))
      operands.push_back(operand.get());
  for (const Added &carried : added)
    for (auto [source, place] :
         llvm::zip_equal(carried.term->sources, carried.sources))
      if (place.first == reader)
        operands.push_back(emitter.emitOver(source, carried.term->dims));
  return operands;
}

void JoinRewriter::addArguments() {
  for (const Added &carried : added)
    for (auto [value, standIn] :
         llvm::zip_equal(carried.values, carried.term->standIns))
      if (auto argument = dyn_cast<BlockArgument>(value))
        emitter.replace(standIn, argument.getOwner()->addArgument(
                                     standIn.getType(), op->getLoc()));
}

void JoinRewriter::dropArguments() {
  for (Value value : dropped) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument)
      continue;
    Block *block = argument.getOwner();
    auto builder = OpBuilder::atBlockBegin(block);
    argument.replaceAllUsesWith(
        makeUnread(builder, op->getLoc(), argument.getType()));
    block->eraseArgument(argument.getArgNumber());
  }
}

void JoinRewriter::replaceResults(Operation *by) {
  OpBuilder builder(by->getContext());
  builder.setInsertionPointAfter(by);
  unsigned next = 0;
  for (OpResult result : op->getResults()) {
    if (llvm::is_contained(dropped, result)) {
      result.replaceAllUsesWith(
          makeUnread(builder, op->getLoc(), result.getType()));
      continue;
    }
    result.replaceAllUsesWith(by->getResult(next));
    emitter.replace(result, by->getResult(next++));
  }
  for (const Added &carried : added)
    for (auto [value, standIn] :
         llvm::zip_equal(carried.values, carried.term->standIns))
      if (isa<OpResult>(value))
        emitter.replace(standIn, by->getResult(next++));
}

Operation *JoinRewriter::rewrite() {
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(sourcesIn(op));
  state.addAttributes(op->getAttrs());
  for (OpResult result : op->getResults())
    if (!llvm::is_contained(dropped, result))
      state.addTypes(result.getType());
  for (const Added &carried : added)
    for (auto [value, standIn] :
         llvm::zip_equal(carried.values, carried.term->standIns))
      if (isa<OpResult>(value))
        state.addTypes(standIn.getType());
  for (Region &region : op->getRegions())
    state.addRegion()->takeBody(region);
  OpBuilder builder(op);
  Operation *by = builder.create(state);
  addArguments();
  replaceResults(by);
  dropArguments();
  return by;
}

void JoinRewriter::rewriteTerminator(Operation *terminator) {
  // Whose operands are counted anew from here on.
  terminator->setOperands(sourcesIn(terminator));
}
