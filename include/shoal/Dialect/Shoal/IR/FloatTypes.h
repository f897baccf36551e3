// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What float types have and have not.

#ifndef SHOAL_DIALECT_SHOAL_IR_FLOATTYPES_H
#define SHOAL_DIALECT_SHOAL_IR_FLOATTYPES_H

#include "mlir/IR/BuiltinTypes.h"

namespace shoal {

/// The floats of 8 bits: f8E4M3FN and f8E5M2.
inline bool isFloat8(mlir::Type type) {
  return llvm::isa<mlir::Float8E4M3FNType, mlir::Float8E5M2Type>(type);
}

} // namespace shoal

#endif // SHOAL_DIALECT_SHOAL_IR_FLOATTYPES_H
