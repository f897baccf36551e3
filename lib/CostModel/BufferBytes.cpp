// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/CostModel/BufferBytes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Transforms/RegionUtils.h"
#include "shoal/CostModel/ProgramCost.h"
#include "shoal/Dialect/Rt/IR/Rt.h"

using namespace mlir;
using namespace shoal;

int64_t shoal::bytesOfBuffers(ValueRange values) {
  int64_t bytes = 0;
  for (Value value : values)
    if (auto type = dyn_cast<MemRefType>(value.getType());
        type && type.hasStaticShape())
      bytes += sizeInBytes(type);
  return bytes;
}

int64_t shoal::touchedBytes(Operation *op) {
  llvm::SetVector<Value> values(op->operand_begin(), op->operand_end());
  if (auto call = dyn_cast<rt::RuntimeCallOpInterface>(op))
    for (OpOperand &scratch : call.getScratchMutable())
      values.remove(scratch.get());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  return bytesOfBuffers(values.getArrayRef());
}
