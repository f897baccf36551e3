// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelEmitter.h"

using namespace mlir;
using namespace shoal;

using Values = KernelEmitter::Values;

/// One iteration. Reduced results are in `sums`, all others in memory: those of
/// the kind Mixed may read what an iteration before has written.
static Values runIteration(KernelEmitter &e, ArrayRef<Value> indices,
                           ArrayRef<Value> sums) {
  Values arguments, addresses;
  const Value *sum = sums.begin();
  for (unsigned operand = 0; operand < e.op->getNumOperands(); ++operand) {
    const Access &access = e.nest.accesses[operand];
    bool isSum =
        access.isWritten && e.nest.getResultKind(access) == ResultKind::Reduced;
    if (isSum)
      arguments.push_back(*sum++);
    else if (access.isRead)
      arguments.push_back(e.load(operand, e.address(operand, indices)));
    else
      arguments.push_back(e.withoutMemory(operand).front());
  }
  Values next;
  for (auto [number, value] : llvm::enumerate(e.runBody(indices, arguments))) {
    unsigned operand = e.operandOf(number);
    if (e.kindOf(number) == ResultKind::Reduced)
      next.push_back(value);
    else
      e.store(operand, e.address(operand, indices), value);
  }
  return next;
}

/// The reduced loops from number `depth` on, in their order.
static Values runLoops(KernelEmitter &e, Values indices, ValueRange sums,
                       size_t depth) {
  if (depth == e.schedule.reduced.size())
    return runIteration(e, indices, Values(sums));
  unsigned loop = e.schedule.reduced[depth];
  return e.forLoop(e.constant(0), e.constant(e.nest.loops[loop].range),
                   /*step=*/1, sums, [&](Value i, ValueRange carried) {
                     Values inner = indices;
                     inner[loop] = i;
                     return runLoops(e, inner, carried, depth + 1);
                   });
}

void shoal::emitSerialReduction(KernelEmitter &e) {
  e.forEachItem(e.nest.countIterations(false), [&](Value item) {
    Values indices = e.zeroIndices();
    e.setIndices(item, e.schedule.parallel, /*lastStep=*/1, indices);
    Values sums;
    for (unsigned result : e.reducedResults())
      sums.push_back(e.loadInitial(result, indices));
    sums = runLoops(e, indices, sums, 0);
    for (auto [result, sum] : llvm::zip_equal(e.reducedResults(), sums)) {
      unsigned operand = e.operandOf(result);
      e.store(operand, e.address(operand, indices), sum);
    }
  });
}
