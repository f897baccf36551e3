// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "OpSeconds.h"
#include "mlir/IR/TypeUtilities.h"
#include "shoal/CostModel/BufferBytes.h"
#include "shoal/Dialect/Rt/IR/Rt.h"

using namespace mlir;
using namespace shoal;

double shoal::estimateSeconds(Operation *op, const Machine &machine) {
  int64_t bytes = touchedBytes(op);
  auto call = dyn_cast<rt::RuntimeCallOpInterface>(op);
  if (call && call.getCollectiveNumber()) {
    auto destination = cast<DestinationStyleOpInterface>(op);
    int64_t sent =
        std::max(bytesOfBuffers(SmallVector<Value>(destination.getDpsInputs())),
                 bytesOfBuffers(SmallVector<Value>(destination.getDpsInits())));
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
