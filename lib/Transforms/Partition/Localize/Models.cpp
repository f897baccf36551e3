// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Models.h"
#include "shoal/Transforms/Partition/Passes.h"

void shoal::registerLocalizeModels(mlir::DialectRegistry &registry) {
#define SHOAL_FAMILY(name) register##name##LocalizeModels(registry);
#include "Families.def"
}
