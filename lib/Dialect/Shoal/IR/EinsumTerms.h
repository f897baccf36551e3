// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the verifiers of einsums share.

#ifndef SHOAL_LIB_DIALECT_SHOAL_IR_EINSUMTERMS_H
#define SHOAL_LIB_DIALECT_SHOAL_IR_EINSUMTERMS_H

#include "shoal/Dialect/Shoal/IR/ContractionOps.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"

namespace shoal {

/// Each of `inputs`, the op's first operands, has a letter a dimension in its
/// term of `spec`, and so has the result; a letter has one size throughout;
/// each letter of the result stands in an operand, and once in the result.
llvm::LogicalResult verifyTerms(mlir::Operation *op, llvm::StringRef text,
                                const EinsumSpec &spec,
                                mlir::ValueRange inputs);

/// The op's first `count` operands have one element type, not i1; the result
/// has it too, or a wider one of the same kind.
llvm::LogicalResult verifyProductTypes(mlir::Operation *op, unsigned count);

} // namespace shoal

#endif // SHOAL_LIB_DIALECT_SHOAL_IR_EINSUMTERMS_H
