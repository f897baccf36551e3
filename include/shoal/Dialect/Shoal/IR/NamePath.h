// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What an op is called where it comes from: modules, functions, the op itself.

#ifndef SHOAL_DIALECT_SHOAL_IR_NAMEPATH_H
#define SHOAL_DIALECT_SHOAL_IR_NAMEPATH_H

#include "mlir/IR/Location.h"
#include <string>

namespace shoal {

/// `jit(step)/Block_3/MoE/dispatch`: the name in a location. Names in a
/// function that was inlined are relative to the call's, `jit(step)/Block_3`,
/// unless they begin where that one does. Empty where there is no name.
std::string namePath(mlir::Location loc);

} // namespace shoal

#endif // SHOAL_DIALECT_SHOAL_IR_NAMEPATH_H
