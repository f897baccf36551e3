// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Reference/Models.h"
#include "Models.h"

void shoal::reference::registerReferenceModels(
    mlir::DialectRegistry &registry) {
  registerArithModels(registry);
  registerCastModels(registry);
  registerMathModels(registry);
  registerConstantModels(registry);
  registerStructureModels(registry);
  registerReductionModels(registry);
  registerIndexingModels(registry);
  registerOrderingModels(registry);
  registerEinsumModel(registry);
  registerRaggedModels(registry);
  registerWindowModels(registry);
  registerSpmdModels(registry);
  registerControlFlowModels(registry);
  registerManualModels(registry);
  registerCustomCallModels(registry);
}
