// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_DIALECT_SPMD_IR_MOVES_H
#define SHOAL_DIALECT_SPMD_IR_MOVES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpImplementation.h"

namespace shoal::spmd {

/// Parse and print `[{"x"} : 0 -> 1]`, an array of #spmd.move.
mlir::ParseResult parseMoves(mlir::AsmParser &parser, mlir::ArrayAttr &moves);
void printMoves(mlir::AsmPrinter &printer, mlir::Operation *op,
                mlir::ArrayAttr moves);

} // namespace shoal::spmd

#endif // SHOAL_DIALECT_SPMD_IR_MOVES_H
