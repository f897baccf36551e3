// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The factor rules of all ops, as models of FactorRuleOpInterface that a tool
// attaches. A file per family of ops; nothing else lists ops.

#ifndef SHOAL_DIALECT_SHOAL_FACTORRULES_FACTORRULES_H
#define SHOAL_DIALECT_SHOAL_FACTORRULES_FACTORRULES_H

#include "mlir/IR/DialectRegistry.h"

namespace shoal {

/// Upstream's elementwise arith and math ops, and constants.
void registerElementwiseFactorRules(mlir::DialectRegistry &registry);
/// Annotations and reshards.
void registerAnnotationFactorRules(mlir::DialectRegistry &registry);
/// einsum, ragged_einsum, reduce.
void registerContractionFactorRules(mlir::DialectRegistry &registry);
/// broadcast_in_dim, transpose, iota, slice, pad, reverse, concatenate.
void registerStructureFactorRules(mlir::DialectRegistry &registry);
/// dynamic_slice, dynamic_update_slice, gather, scatter.
void registerIndexingFactorRules(mlir::DialectRegistry &registry);
/// convolution, reduce_window, select_and_scatter.
void registerWindowFactorRules(mlir::DialectRegistry &registry);
/// cumulative, top_k, sort, reduce_region, bitcast_convert.
void registerOrderingFactorRules(mlir::DialectRegistry &registry);
void registerReshapeFactorRules(mlir::DialectRegistry &registry);

/// Collectives over manual axes.
void registerCollectiveFactorRules(mlir::DialectRegistry &registry);
/// custom_call.
void registerCustomCallFactorRules(mlir::DialectRegistry &registry);
/// optimization_barrier.
void registerControlFlowFactorRules(mlir::DialectRegistry &registry);

inline void registerFactorRuleModels(mlir::DialectRegistry &registry) {
  registerElementwiseFactorRules(registry);
  registerAnnotationFactorRules(registry);
  registerContractionFactorRules(registry);
  registerStructureFactorRules(registry);
  registerIndexingFactorRules(registry);
  registerWindowFactorRules(registry);
  registerOrderingFactorRules(registry);
  registerReshapeFactorRules(registry);
  registerControlFlowFactorRules(registry);
  registerCollectiveFactorRules(registry);
  registerCustomCallFactorRules(registry);
}

} // namespace shoal

#endif // SHOAL_DIALECT_SHOAL_FACTORRULES_FACTORRULES_H
