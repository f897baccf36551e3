// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Rules.h"
#include "shoal/Dialect/Shoal/IR/ReshapeOps.h"

using namespace mlir;
using namespace shoal;

namespace {

struct Reshape : DifferentiableOpInterface::ExternalModel<Reshape, ReshapeOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    Value input = cast<ReshapeOp>(operation).getInput();
    vjp.add(0, vjp.b.reshape(vjp.cotangent(), tensorTypeOf(input).getShape()));
    return success();
  }
};

} // namespace

void shoal::registerReshapeDerivativeRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    ReshapeOp::attachInterface<Reshape>(*context);
  });
}
