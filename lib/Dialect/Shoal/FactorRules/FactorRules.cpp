// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Shoal/FactorRules/FactorRules.h"
#include "Models.h"

void shoal::registerFactorRuleModels(mlir::DialectRegistry &registry) {
#define SHOAL_FAMILY(name) register##name##FactorRules(registry);
#include "Families.def"
}
