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
    Values none;
    e.runVector(indices, none, /*areApart=*/false);
  });
}
