// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Loads in an op's body from buffers that are no operands of the op: what it
// reads through indices.

#ifndef SHOAL_LIB_CONVERSION_DEVICE_CAPTUREDLOADS_H
#define SHOAL_LIB_CONVERSION_DEVICE_CAPTUREDLOADS_H

#include "LoopNest.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace shoal {

/// A load of the element `offset + strides[0] * l0 + strides[1] * l1 + ... +
/// terms` behind the buffer's pointer, (l0, l1, ...) an iteration of the op's
/// own loops. Terms are values of the body, of index type, times their stride.
struct CapturedLoad {
  mlir::memref::LoadOp op;
  int64_t offset = 0;
  llvm::SmallVector<int64_t> strides;
  llvm::SmallVector<std::pair<mlir::Value, int64_t>> terms;
};

/// The loads of the op's body, in its order.
llvm::SmallVector<CapturedLoad> findCapturedLoads(mlir::linalg::GenericOp op);

/// Appends an access for each load to the nest's, by the op's own loops.
/// Errors: a layout that is not strided and static; a load inside of another
/// op.
mlir::LogicalResult addCapturedAccesses(mlir::linalg::GenericOp op,
                                        LoopNest &nest);

/// Says of these accesses along which of the nest's loops, now merged, they
/// jump: those that a term depends on.
void findJumps(mlir::linalg::GenericOp op, LoopNest &nest);

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_DEVICE_CAPTUREDLOADS_H
