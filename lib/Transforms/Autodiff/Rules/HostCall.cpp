// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Rules.h"
#include "shoal/Dialect/Shoal/IR/HostCallOps.h"

using namespace mlir;
using namespace shoal;

void shoal::registerHostCallDerivativeRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    refuse<HostCallOp>(context, [] {
      return "calls a function of the host, of which no derivative is known: "
             "stop the gradient in front of it";
    });
    noGradient<PrintOp>(context, [] { return "it has no results of floats"; });
  });
}
