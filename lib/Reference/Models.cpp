// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Reference/Models.h"
#include "Models.h"

void shoal::reference::registerReferenceModels(
    mlir::DialectRegistry &registry) {
#define SHOAL_FAMILY(name) register##name##Models(registry);
#include "Families.def"
}
