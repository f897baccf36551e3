// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Rules.h"
#include "shoal/Dialect/Shoal/IR/ManualOps.h"

using namespace mlir;
using namespace shoal;

void shoal::registerManualDerivativeRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    refuse<ManualComputationOp, AutoToManualOp, ManualToAutoOp>(context, [] {
      return "is written for one device; gradients are taken of whole programs";
    });
  });
}
