// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What annotations may say of addends.

#ifndef SHOAL_LIB_DIALECT_SHOAL_IR_VERIFYADDENDS_H
#define SHOAL_LIB_DIALECT_SHOAL_IR_VERIFYADDENDS_H

#include "shoal/Dialect/Shoal/IR/Axes.h"

namespace shoal {

/// (S4) of an annotation of a value of `type`: where it has partial axes, the
/// elements add up.
llvm::LogicalResult verifyAddends(ShardingAttr sharding, mlir::Type type,
                                  EmitError emitError);

} // namespace shoal

#endif // SHOAL_LIB_DIALECT_SHOAL_IR_VERIFYADDENDS_H
