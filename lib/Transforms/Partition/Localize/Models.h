// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The families of localize models. A file each; registerLocalizeModels attaches
// them all.

#ifndef SHOAL_LIB_TRANSFORMS_PARTITION_LOCALIZE_MODELS_H
#define SHOAL_LIB_TRANSFORMS_PARTITION_LOCALIZE_MODELS_H

#include "mlir/IR/DialectRegistry.h"

namespace shoal {

/// einsum, ragged_einsum.
void registerContractionLocalizeModels(mlir::DialectRegistry &registry);
/// gather, dynamic_slice.
void registerGatherLocalizeModels(mlir::DialectRegistry &registry);
/// scatter, dynamic_update_slice.
void registerScatterLocalizeModels(mlir::DialectRegistry &registry);
/// convolution, reduce_window.
void registerWindowLocalizeModels(mlir::DialectRegistry &registry);
void registerSelectAndScatterLocalizeModel(mlir::DialectRegistry &registry);
/// cumulative, top_k, reduce_region.
void registerOrderingLocalizeModels(mlir::DialectRegistry &registry);
/// slice, pad, reverse, concatenate.
void registerStructureLocalizeModels(mlir::DialectRegistry &registry);
void registerReshapeLocalizeModels(mlir::DialectRegistry &registry);
void registerCustomCallLocalizeModel(mlir::DialectRegistry &registry);

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_PARTITION_LOCALIZE_MODELS_H
