// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Programs as text.

#ifndef SHOAL_LIB_FUZZ_TEXTS_H
#define SHOAL_LIB_FUZZ_TEXTS_H

#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace shoal::fuzz {

/// The texts of a module, stage by stage.
class RoundTrips {
public:
  /// Whether the module's text parses and verifies, as what it was; reports an
  /// error where it does not. A text that the last one was too is not parsed
  /// again.
  llvm::LogicalResult check(mlir::Operation *module);

private:
  std::string last;
};

} // namespace shoal::fuzz

#endif // SHOAL_LIB_FUZZ_TEXTS_H
