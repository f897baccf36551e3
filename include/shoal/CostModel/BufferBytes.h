// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_COSTMODEL_BUFFERBYTES_H
#define SHOAL_COSTMODEL_BUFFERBYTES_H

#include "mlir/IR/ValueRange.h"

namespace shoal {

/// Of those that are memrefs of static shape, each time it stands there.
int64_t bytesOfBuffers(mlir::ValueRange values);

/// Of what an op on buffers touches, an rt.kernel or a loop by the ops in it;
/// without scratch, of which calls may not need all.
int64_t touchedBytes(mlir::Operation *op);

} // namespace shoal

#endif // SHOAL_COSTMODEL_BUFFERBYTES_H
