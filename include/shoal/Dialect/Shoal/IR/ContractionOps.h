// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_DIALECT_SHOAL_IR_CONTRACTIONOPS_H
#define SHOAL_DIALECT_SHOAL_IR_CONTRACTIONOPS_H

#include "shoal/Dialect/Shoal/IR/Shoal.h"

namespace shoal {

/// The parsed spec of an einsum: a letter per dimension.
struct EinsumSpec {
  llvm::SmallVector<llvm::SmallVector<char, 6>, 2> inputs;
  llvm::SmallVector<char, 6> result;

  /// Parses `"GSM,ME->GSE"`; on error says what is wrong through `error`.
  static std::optional<EinsumSpec> parse(llvm::StringRef spec,
                                         std::string &error);
  /// The same of text that is known to be well formed.
  static EinsumSpec of(llvm::StringRef spec);
};

} // namespace shoal

#define GET_OP_CLASSES
#include "shoal/Dialect/Shoal/IR/ContractionOps.h.inc"

#endif // SHOAL_DIALECT_SHOAL_IR_CONTRACTIONOPS_H
