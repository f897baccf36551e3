// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Rules.h"
#include "shoal/Dialect/Shoal/IR/CustomCallOps.h"

using namespace mlir;
using namespace shoal;

namespace {

struct CustomCall
    : DifferentiableOpInterface::ExternalModel<CustomCall, CustomCallOp> {
  static StringRef getDomain() { return "identities"; }
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto op = cast<CustomCallOp>(operation);
    if (!op.isIdentity())
      return vjp.refuse("calls a function of which no derivative is known");
    for (unsigned i = 0; i < op.getInputs().size(); ++i)
      vjp.add(i, vjp.cotangent(i));
    return success();
  }
};

} // namespace

void shoal::registerCustomCallDerivativeRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    CustomCallOp::attachInterface<CustomCall>(*context);
  });
}
