// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The meaning of every op that the interpreter runs.

#ifndef SHOAL_REFERENCE_MODELS_H
#define SHOAL_REFERENCE_MODELS_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace shoal::reference {

/// Attaches ReferenceOpInterface and GridOpInterface to the ops of shoal, spmd,
/// arith, math and tensor, as each dialect is loaded.
///
/// Elementwise float ops are computed in double and rounded once to the result
/// type: correctly rounded for + - * / sqrt and conversions between floats,
/// faithful for the functions of libm. Integer ops wrap. Where arith leaves a
/// result undefined or poison (division by zero, a shift by the width or more,
/// a float out of the integer's range), some value results, never a trap.
void registerReferenceModels(mlir::DialectRegistry &registry);

} // namespace shoal::reference

#endif // SHOAL_REFERENCE_MODELS_H
