// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Programs as text.

#ifndef SHOAL_LIB_FUZZ_TEXTS_H
#define SHOAL_LIB_FUZZ_TEXTS_H

#include "mlir/IR/BuiltinOps.h"

namespace shoal::fuzz {

/// Whether the module's text parses, verifies and prints as it was; reports
/// an error where it does not.
llvm::LogicalResult checkRoundTrip(mlir::Operation *module);

} // namespace shoal::fuzz

#endif // SHOAL_LIB_FUZZ_TEXTS_H
