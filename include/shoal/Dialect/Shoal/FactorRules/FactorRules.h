// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_DIALECT_SHOAL_FACTORRULES_FACTORRULES_H
#define SHOAL_DIALECT_SHOAL_FACTORRULES_FACTORRULES_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace shoal {

/// Attaches FactorRuleOpInterface to the ops of shoal, spmd, arith and math, as
/// each dialect is loaded.
void registerFactorRuleModels(mlir::DialectRegistry &registry);

} // namespace shoal

#endif // SHOAL_DIALECT_SHOAL_FACTORRULES_FACTORRULES_H
