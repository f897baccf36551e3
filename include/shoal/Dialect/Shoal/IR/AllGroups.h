// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Of how many groups a device's ragged einsum has some.

#ifndef SHOAL_DIALECT_SHOAL_IR_ALLGROUPS_H
#define SHOAL_DIALECT_SHOAL_IR_ALLGROUPS_H

#include "llvm/ADT/StringRef.h"

namespace shoal {

/// On a shoal.ragged_einsum whose groups are split over devices: the number of
/// all groups, an i64, among which its rows are. It multiplies those of its own
/// groups alone; costs count as many as if all groups were alike.
inline constexpr llvm::StringLiteral kAllGroupsAttr = "shoal.all_groups";

} // namespace shoal

#endif // SHOAL_DIALECT_SHOAL_IR_ALLGROUPS_H
