// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Values that are kept best as what they are made of.

#ifndef SHOAL_LIB_TRANSFORMS_AUTODIFF_EXPANSION_H
#define SHOAL_LIB_TRANSFORMS_AUTODIFF_EXPANSION_H

#include "mlir/IR/Value.h"

namespace shoal {

/// Whether a value of a block has more elements than those that it is made of
/// there, by few ops each of whose elements needs one element of every
/// operand and no function of the library: broadcasts, comparisons, selections,
/// products without a sum. So are masks of one-hots, of which whoever sees how
/// they are made moves rows instead of multiplying by them.
bool isExpansion(mlir::Value value);

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_AUTODIFF_EXPANSION_H
