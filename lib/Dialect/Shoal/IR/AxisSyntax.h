// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How lists of axes stand in attributes: `{"x", "y":(2)4}`.

#ifndef SHOAL_LIB_DIALECT_SHOAL_IR_AXISSYNTAX_H
#define SHOAL_LIB_DIALECT_SHOAL_IR_AXISSYNTAX_H

#include "mlir/IR/OpImplementation.h"
#include "shoal/Dialect/Shoal/IR/Shoal.h"

namespace shoal {

/// Devices of a mesh, at most.
inline constexpr int64_t kMaxDevices = int64_t(1) << 31;

/// A list with its braces. A `?` at its end sets `isOpen`, where that is asked.
mlir::ParseResult parseAxes(mlir::AsmParser &parser,
                            llvm::SmallVectorImpl<AxisRefAttr> &axes,
                            bool *isOpen = nullptr);
void printAxes(llvm::raw_ostream &os, llvm::ArrayRef<AxisRefAttr> axes,
               bool isOpen = false);

} // namespace shoal

#endif // SHOAL_LIB_DIALECT_SHOAL_IR_AXISSYNTAX_H
