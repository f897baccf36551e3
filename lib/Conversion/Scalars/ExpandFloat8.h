// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_CONVERSION_SCALARS_EXPANDFLOAT8_H
#define SHOAL_LIB_CONVERSION_SCALARS_EXPANDFLOAT8_H

#include "mlir/IR/PatternMatch.h"

namespace shoal {

/// Scalar arith.extf and arith.truncf between f8E4M3FN or f8E5M2 and the floats
/// of 16 and 32 bits, and extensions to f64, as operations of integers and f32,
/// which need no denormal f32. Rounds to nearest, ties to even; what is too
/// large becomes NaN in f8E4M3FN, infinity in f8E5M2. The results are those of
/// Support/SmallFloat.h.
void populateExpandFloat8Patterns(mlir::RewritePatternSet &patterns);

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_SCALARS_EXPANDFLOAT8_H
