// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What registers the models of ElementOpInterface of each family.

#ifndef SHOAL_LIB_TRANSFORMS_SPARSE_ELEMENTS_MODELS_H
#define SHOAL_LIB_TRANSFORMS_SPARSE_ELEMENTS_MODELS_H

#include "mlir/IR/DialectRegistry.h"

namespace shoal {

#define SHOAL_FAMILY(name)                                                     \
  void register##name##ElementModels(mlir::DialectRegistry &registry);
#include "Families.def"

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_SPARSE_ELEMENTS_MODELS_H
