// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_DIALECT_SHOAL_IR_CUSTOMCALLOPS_H
#define SHOAL_DIALECT_SHOAL_IR_CUSTOMCALLOPS_H

#include "shoal/Dialect/Shoal/IR/Shoal.h"

#define GET_OP_CLASSES
#include "shoal/Dialect/Shoal/IR/CustomCallOps.h.inc"

namespace shoal {

/// The rule of a custom_call: a letter per dimension of each operand and
/// result.
struct CallRule {
  llvm::SmallVector<std::string> operands, results;

  /// Splits `"bi,ij->bj"`. A tensor of rank 0 has an empty part; so has a list
  /// of none.
  static std::optional<CallRule> parse(llvm::StringRef text);
};

} // namespace shoal

#endif // SHOAL_DIALECT_SHOAL_IR_CUSTOMCALLOPS_H
