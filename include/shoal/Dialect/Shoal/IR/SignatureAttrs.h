// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Attributes of functions' arguments and results that only callers look at.

#ifndef SHOAL_DIALECT_SHOAL_IR_SIGNATUREATTRS_H
#define SHOAL_DIALECT_SHOAL_IR_SIGNATUREATTRS_H

#include "llvm/ADT/StringRef.h"

namespace shoal {

/// A UnitAttr: the caller sees these integers' bits as unsigned ones. Integers
/// of a program have no sign, its ops do.
inline constexpr llvm::StringLiteral kUnsignedAttr = "shoal.unsigned";

} // namespace shoal

#endif // SHOAL_DIALECT_SHOAL_IR_SIGNATUREATTRS_H
