// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Rules.h"
#include "shoal/Transforms/Autodiff/Passes.h"

void shoal::registerDerivativeRules(mlir::DialectRegistry &registry) {
#define SHOAL_FAMILY(name) register##name##DerivativeRules(registry);
#include "Families.def"
}
