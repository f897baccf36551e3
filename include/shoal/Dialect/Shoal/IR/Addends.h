// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Values that devices hold as addends of a sum, by annotation.

#ifndef SHOAL_DIALECT_SHOAL_IR_ADDENDS_H
#define SHOAL_DIALECT_SHOAL_IR_ADDENDS_H

#include "shoal/Dialect/Shoal/IR/Shoal.h"

namespace shoal {

/// Unit, on an argument or result whose first dimension has the addends of
/// what it is to who calls the program, one for each device along the axes
/// that split it.
inline constexpr llvm::StringLiteral kAddendsAttr = "shoal.addends";

/// The same sharding of a value that is not partial.
ShardingAttr withoutPartial(ShardingAttr sharding);

} // namespace shoal

#endif // SHOAL_DIALECT_SHOAL_IR_ADDENDS_H
