// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelEmitter.h"

using namespace mlir;
using namespace shoal;

using Values = KernelEmitter::Values;

void shoal::emitMap(KernelEmitter &e) {
  int64_t vector = e.schedule.vector;
  e.forEachItem(e.nest.countIterations(false) / vector, [&](Value item) {
    Values indices = e.zeroIndices();
    e.setIndices(item, e.schedule.parallel, vector, indices);
    SmallVector<Values> operands;
    for (unsigned operand = 0; operand < e.op->getNumOperands(); ++operand)
      operands.push_back(e.nest.accesses[operand].isRead
                             ? e.loadVector(operand, indices)
                             : e.withoutMemory(operand));
    SmallVector<Values> results(e.op.getNumDpsInits());
    for (int64_t i = 0; i < vector; ++i) {
      Values arguments;
      for (const Values &values : operands)
        arguments.push_back(values[i]);
      for (auto [result, value] :
           llvm::zip_equal(results, e.runBody(e.moved(indices, i), arguments)))
        result.push_back(value);
    }
    for (auto [number, values] : llvm::enumerate(results))
      e.storeVector(e.operandOf(number), indices, values);
  });
}
