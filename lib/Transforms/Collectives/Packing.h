// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Several collectives of one kind and group as one, on one packed tensor.

#ifndef SHOAL_LIB_TRANSFORMS_COLLECTIVES_PACKING_H
#define SHOAL_LIB_TRANSFORMS_COLLECTIVES_PACKING_H

#include "AxisLists.h"

namespace shoal {

/// What collectives that may be packed together have in common: kind, group,
/// elements, how they combine. Null for an op that cannot be packed.
mlir::Attribute packingKey(mlir::Operation *op);

/// Writes in front of the last of `ops`, which share a key and do not depend on
/// each other, one collective that does the work of all, and returns the
/// results of each in turn.
llvm::SmallVector<mlir::Value> pack(llvm::ArrayRef<mlir::Operation *> ops);

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_COLLECTIVES_PACKING_H
