// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Composites written out.

#ifndef SHOAL_TRANSFORMS_IMPORT_DECOMPOSE_H
#define SHOAL_TRANSFORMS_IMPORT_DECOMPOSE_H

#include "mlir/IR/Operation.h"

namespace shoal {

/// Replaces the ops below `root` that have CompositeOpInterface by the ops they
/// stand for, until none is left but those that `keeps` says.
void decomposeComposites(
    mlir::Operation *root, llvm::function_ref<bool(mlir::Operation *)> keeps =
                               [](mlir::Operation *) { return false; });

} // namespace shoal

#endif // SHOAL_TRANSFORMS_IMPORT_DECOMPOSE_H
