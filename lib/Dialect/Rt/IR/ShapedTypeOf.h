// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_DIALECT_RT_IR_SHAPEDTYPEOF_H
#define SHOAL_LIB_DIALECT_RT_IR_SHAPEDTYPEOF_H

#include "mlir/IR/BuiltinTypes.h"

namespace shoal::rt {

/// Of an operand of a call: a tensor, or the buffer that it became.
inline mlir::ShapedType shapedTypeOf(mlir::Value value) {
  return llvm::cast<mlir::ShapedType>(value.getType());
}

} // namespace shoal::rt

#endif // SHOAL_LIB_DIALECT_RT_IR_SHAPEDTYPEOF_H
