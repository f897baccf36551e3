// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Models.h"
#include "shoal/Transforms/Sparse/Passes.h"

void shoal::registerElementModels(mlir::DialectRegistry &registry) {
#define SHOAL_FAMILY(name) register##name##ElementModels(registry);
#include "Families.def"
}
