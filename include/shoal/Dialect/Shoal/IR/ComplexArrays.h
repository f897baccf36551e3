// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Arguments and results that are arrays of complex numbers to the caller.

#ifndef SHOAL_DIALECT_SHOAL_IR_COMPLEXARRAYS_H
#define SHOAL_DIALECT_SHOAL_IR_COMPLEXARRAYS_H

#include "llvm/ADT/StringRef.h"

namespace shoal {

/// Unit, on an argument or result of f32 or f64 whose last dimension, of size
/// 2, is the real and the imaginary part of numbers that are complex to who
/// calls the program. It is not split.
inline constexpr llvm::StringLiteral kComplexAttr = "shoal.complex";

} // namespace shoal

#endif // SHOAL_DIALECT_SHOAL_IR_COMPLEXARRAYS_H
