// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LoopReads.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "shoal/Dialect/Shoal/IR/LoopCounters.h"
#include "shoal/Dialect/Shoal/IR/ReshapeOps.h"

using namespace mlir;
using namespace shoal;

LoopReads::LoopReads(WhileOp loop, int64_t trips) : loop(loop), trips(trips) {
  for (auto [i, value] :
       llvm::enumerate(getBody().getTerminator()->getOperands())) {
    auto type = cast<RankedTensorType>(value.getType());
    auto add = value.getDefiningOp<arith::AddIOp>();
    if (!add || type.getRank() != 0)
      continue;
    Value before = getBody().getArgument(i);
    Value other = add.getLhs() == before ? add.getRhs() : add.getLhs();
    APInt step;
    bool counts = (add.getLhs() == before || add.getRhs() == before) &&
                  matchPattern(other, m_ConstantInt(&step));
    if (counts)
      counters.push_back({static_cast<unsigned>(i), step.getSExtValue()});
  }
}

bool LoopReads::isInvariant(Value value) {
  return value.getParentBlock() != &getBody();
}

bool LoopReads::followsFromCounters(Value value) {
  if (isInvariant(value) || matchPattern(value, m_Constant()))
    return true;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return llvm::any_of(counters, [&](const Counter &counter) {
      return counter.number == argument.getArgNumber();
    });
  Operation *maker = value.getDefiningOp();
  auto type = cast<RankedTensorType>(value.getType());
  return type.getRank() == 0 && type.getElementType().isInteger() &&
         maker->getNumRegions() == 0 && isPure(maker) &&
         llvm::all_of(maker->getOperands(), [&](Value operand) {
           return followsFromCounters(operand);
         });
}

bool LoopReads::isReadRepeatedly(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getInput();
  auto slice = value.getDefiningOp<DynamicSliceOp>();
  if (!slice || !isInvariant(slice.getInput()))
    return false;
  int64_t elements = cast<ShapedType>(value.getType()).getNumElements();
  int64_t whole = slice.getInput().getType().getNumElements();
  return elements > whole / trips &&
         llvm::all_of(slice.getStarts(),
                      [&](Value start) { return followsFromCounters(start); });
}

bool LoopReads::isOwnRow(DynamicSliceOp slice) {
  ArrayRef<int64_t> shape = slice.getInput().getType().getShape();
  for (auto [start, size, rows] :
       llvm::zip_equal(slice.getStarts(), slice.getSizes(), shape)) {
    std::optional<TripNumbers> numbers = tripNumbersOf(loop, start);
    if (size != 1 || !numbers || numbers->step == 0)
      continue;
    int64_t first = numbers->first, last = numbers->last(trips);
    // Outside of the rows, starts are moved to the first one or the last.
    if (std::min(first, last) >= 0 && std::max(first, last) < rows)
      return true;
  }
  return false;
}

bool LoopReads::isReadByOwnRows(Value value) {
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    if (!loop->isProperAncestor(use.getOwner()))
      return true;
    auto slice = dyn_cast<DynamicSliceOp>(use.getOwner());
    return slice && slice->getBlock() == &getBody() && isOwnRow(slice);
  });
}

void LoopReads::setOwnRow(Value gradient, Value sum) {
  auto update = gradient.getDefiningOp<DynamicUpdateSliceOp>();
  auto add = update ? update.getUpdate().getDefiningOp<arith::AddFOp>()
                    : arith::AddFOp();
  auto row =
      add ? add.getLhs().getDefiningOp<DynamicSliceOp>() : DynamicSliceOp();
  if (row && update.getInput() == sum && row.getInput() == sum &&
      sum.hasNUses(2) && row->hasOneUse() && add->hasOneUse() &&
      llvm::equal(row.getStarts(), update.getStarts()) && isOwnRow(row))
    update.getUpdateMutable().set(add.getRhs());
}
