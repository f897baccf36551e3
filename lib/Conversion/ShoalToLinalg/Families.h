// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What adds the patterns of each family.

#ifndef SHOAL_LIB_CONVERSION_SHOALTOLINALG_FAMILIES_H
#define SHOAL_LIB_CONVERSION_SHOALTOLINALG_FAMILIES_H

#include "Patterns.h"

namespace shoal {

/// Adds the patterns of a family. `numbering` must outlive them.
#define SHOAL_FAMILY(name)                                                     \
  void populate##name##Patterns(mlir::RewritePatternSet &patterns,             \
                                const ProgramNumbering &numbering);
#include "Families.def"

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_SHOALTOLINALG_FAMILIES_H
