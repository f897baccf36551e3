// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "OpSeconds.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/RegionUtils.h"
#include "shoal/CostModel/ProgramCost.h"
#include "shoal/Dialect/Rt/IR/Rt.h"

using namespace mlir;
using namespace shoal;

static int64_t bytesOf(ValueRange values) {
  int64_t bytes = 0;
  for (Value value : values)
    if (auto type = dyn_cast<MemRefType>(value.getType());
        type && type.hasStaticShape())
      bytes += sizeInBytes(type);
  return bytes;
}

/// What the op touches, an rt.kernel by its ops; without scratch, of which
/// calls may not need all.
static int64_t bytesOf(Operation *op) {
  llvm::SetVector<Value> values(op->operand_begin(), op->operand_end());
  if (auto call = dyn_cast<rt::RuntimeCallOpInterface>(op))
    for (OpOperand &scratch : call.getScratchMutable())
      values.remove(scratch.get());
  if (isa<rt::KernelOp>(op))
    getUsedValuesDefinedAbove(op->getRegions(), values);
  return bytesOf(values.getArrayRef());
}

double shoal::estimateSeconds(Operation *op, const Machine &machine) {
  int64_t bytes = bytesOf(op);
  auto call = dyn_cast<rt::RuntimeCallOpInterface>(op);
  if (call && call.getCollectiveNumber()) {
    auto destination = cast<DestinationStyleOpInterface>(op);
    int64_t sent =
        std::max(bytesOf(SmallVector<Value>(destination.getDpsInputs())),
                 bytesOf(SmallVector<Value>(destination.getDpsInits())));
    return machine.collectiveSeconds + sent / machine.linkBytes;
  }
  double terms = call ? call.countTerms() : 0;
  double seconds = bytes / machine.memoryBytes;
  if (terms > 0) {
    Type element = getElementTypeOrSelf(op->getOperand(0).getType());
    bool isNarrow =
        isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
    double flops = isNarrow ? machine.narrowFlops : machine.flops;
    seconds = std::max(seconds, 2 * terms / flops);
  }
  return machine.loopCallSeconds + seconds;
}
