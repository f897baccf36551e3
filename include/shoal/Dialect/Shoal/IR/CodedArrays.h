// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Arguments and results that are arrays of elements of few bits to the caller.

#ifndef SHOAL_DIALECT_SHOAL_IR_CODEDARRAYS_H
#define SHOAL_DIALECT_SHOAL_IR_CODEDARRAYS_H

#include "llvm/ADT/StringRef.h"

namespace shoal {

/// A string, on an argument or result of i8: the name of the type of elements,
/// as "i4", whose codes the bytes are to who calls the program. A code is the
/// element's bits in the low bits of its byte; the others mean nothing.
inline constexpr llvm::StringLiteral kCodesAttr = "shoal.codes";

} // namespace shoal

#endif // SHOAL_DIALECT_SHOAL_IR_CODEDARRAYS_H
