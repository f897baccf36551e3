// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Slices of what was widened are widened slices.

#ifndef SHOAL_LIB_TRANSFORMS_REMATERIALIZE_NARROWREADS_H
#define SHOAL_LIB_TRANSFORMS_REMATERIALIZE_NARROWREADS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace shoal::remat {

/// Takes slices of an array before it is widened, where nothing but slices
/// reads it wide:
///
///   %wide = arith.extf %x : tensor<29x8xbf16> to tensor<29x8xf32>
///   loop { %row = shoal.dynamic_slice %wide[...]; arith.truncf %row }
///
/// The layers of a loop so read the parameters in the type that they are cast
/// to; gradients, whose sums are wide, make the program widen all of them. What
/// is narrowed again behind the slice is never wide. Results are the same to
/// the bit.
void narrowReads(mlir::func::FuncOp function);

} // namespace shoal::remat

#endif // SHOAL_LIB_TRANSFORMS_REMATERIALIZE_NARROWREADS_H
