// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "shoal/Fuzz/Shrink.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::fuzz;

static Operation *returnOf(Program &program) {
  return program.entry.front().getTerminator();
}

/// Ops without users, and then arguments without.
static void removeDead(Program &program) {
  Block &body = program.entry.front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();
  for (unsigned i = body.getNumArguments(); i-- > 0;)
    if (body.getArgument(i).use_empty()) {
      (void)program.entry.eraseArgument(i);
      program.arguments.erase(program.arguments.begin() + i);
    }
}

// Each edit changes what stands at a place, counted from 0, and returns false
// where there is nothing to change.

static bool dropResult(Program &program, unsigned place) {
  Operation *op = returnOf(program);
  if (op->getNumOperands() < 2 || place >= op->getNumOperands())
    return false;
  op->eraseOperand(place);
  (void)program.entry.eraseResult(place);
  program.results.erase(program.results.begin() + place);
  removeDead(program);
  return true;
}

static Operation *opAt(Program &program, unsigned place) {
  for (Operation &op : program.entry.front())
    if (place-- == 0)
      return op.hasTrait<OpTrait::IsTerminator>() ? nullptr : &op;
  return nullptr;
}

static bool replaceByArguments(Program &program, unsigned place) {
  Operation *op = opAt(program, place);
  if (!op || op->getNumOperands() == 0)
    return false;
  for (OpResult result : op->getResults()) {
    auto type = cast<RankedTensorType>(result.getType());
    unsigned index = program.entry.getNumArguments();
    (void)program.entry.insertArgument(index, type, {}, op->getLoc());
    program.arguments.push_back(inputBounds(type.getElementType()));
    result.replaceAllUsesWith(program.entry.getArgument(index));
  }
  op->erase();
  removeDead(program);
  return true;
}

static bool replaceByOperand(Program &program, unsigned place) {
  Operation *op = opAt(program, place);
  if (!op || op->getNumResults() != 1)
    return false;
  for (Value operand : op->getOperands()) {
    if (operand.getType() != op->getResult(0).getType())
      continue;
    op->getResult(0).replaceAllUsesWith(operand);
    op->erase();
    removeDead(program);
    return true;
  }
  return false;
}

static bool dropArgumentSharding(Program &program, unsigned place) {
  return place < program.entry.getNumArguments() &&
         program.entry.removeArgAttr(place, kShardingAttr);
}

static bool dropResultSharding(Program &program, unsigned place) {
  return place < program.entry.getNumResults() &&
         program.entry.removeResultAttr(
             place, StringAttr::get(program.entry.getContext(), kShardingAttr));
}

void shoal::fuzz::reduce(Program &program,
                         llvm::function_ref<bool(const Program &)> fails) {
  using Edit = bool (*)(Program &, unsigned);
  static constexpr Edit edits[] = {dropResult, replaceByArguments,
                                   replaceByOperand, dropArgumentSharding,
                                   dropResultSharding};
  constexpr unsigned maxPlaces = 64;
  for (bool isSmaller = true; isSmaller;) {
    isSmaller = false;
    for (Edit edit : edits)
      for (unsigned place = maxPlaces; place-- > 0;) {
        Program candidate = program.clone();
        if (!edit(candidate, place) || !fails(candidate))
          continue;
        program = std::move(candidate);
        isSmaller = true;
      }
  }
}
