// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Models.h"
#include "shoal/Dialect/Shoal/IR/ReshapeOps.h"

using namespace mlir;

namespace shoal::reference {

static FailureOr<Tensors> evaluateReshape(ReshapeOp op,
                                          ArrayRef<Tensor> operands) {
  return Tensors{operands[0].reshaped(resultType(op).shape)};
}

void registerReshapeModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    attach<ReshapeOp, evaluateReshape>(context);
  });
}

} // namespace shoal::reference
