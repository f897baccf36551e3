// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A number for what is in an op's regions.

#ifndef SHOAL_CONVERSION_CLEANUP_REGIONHASH_H
#define SHOAL_CONVERSION_CLEANUP_REGIONHASH_H

#include "llvm/ADT/Hashing.h"

namespace mlir {
class Operation;
} // namespace mlir

namespace shoal {

/// Equal for ops whose regions are equal to `OperationEquivalence` without
/// locations, also where their operands are replaced by equal ops' results
/// between one call and another: a value counts by the op that makes it,
/// without that op's operands. Differs as a rule where regions differ, also in
/// the constants that they read from outside.
llvm::hash_code hashRegions(mlir::Operation *op);

} // namespace shoal

#endif // SHOAL_CONVERSION_CLEANUP_REGIONHASH_H
