// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a text is held to before it is parsed, as MLIR's parser is not.

#ifndef SHOAL_TRANSFORMS_IMPORT_TEXTLIMITS_H
#define SHOAL_TRANSFORMS_IMPORT_TEXTLIMITS_H

#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"
#include "llvm/Support/MemoryBufferRef.h"

namespace shoal {

/// The most brackets, ( [ { and <, that may be open at one place of a text. The
/// parser of MLIR, its printer and passes have frames on the stack for each: so
/// many loops in each other are compiled on a stack of 1 MiB, and 8 are usual.
constexpr size_t kMaxNesting = 256;

/// An error where a text nests deeper, at the first bracket too many, or speaks
/// of more values by number (`%r#7` of at least 8) than it has characters: the
/// parser makes room for them before it knows who defines them; or has a
/// `tensor.from_elements`, or one of the dialect vector, of a type with more
/// elements than that, of which the parser makes a list; or an `array<index:
/// ...>`, whose elements' width it asks for and dies. What is in strings and
/// comments does not count; what is binary is left to its reader.
mlir::LogicalResult verifyText(llvm::MemoryBufferRef text,
                               mlir::MLIRContext *context);

} // namespace shoal

#endif // SHOAL_TRANSFORMS_IMPORT_TEXTLIMITS_H
