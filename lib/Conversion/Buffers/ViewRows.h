// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Rows of arguments that are read where they are.

#ifndef SHOAL_LIB_CONVERSION_BUFFERS_VIEWROWS_H
#define SHOAL_LIB_CONVERSION_BUFFERS_VIEWROWS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace shoal {

/// What only moves rows of an argument that lie side by side becomes a slice of
/// it, a view: an argument is there in any case.
void viewRows(mlir::linalg::GenericOp op);

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_BUFFERS_VIEWROWS_H
