// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Rules.h"
#include "shoal/Dialect/Shoal/IR/RandomOps.h"

using namespace mlir;
using namespace shoal;

void shoal::registerRandomDerivativeRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    noGradient<RandomOp>(context, [] { return "it depends on its key alone"; });
  });
}
