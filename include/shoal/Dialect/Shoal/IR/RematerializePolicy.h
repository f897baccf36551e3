// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a backward pass finds of the forward pass, by name.

#ifndef SHOAL_DIALECT_SHOAL_IR_REMATERIALIZEPOLICY_H
#define SHOAL_DIALECT_SHOAL_IR_REMATERIALIZEPOLICY_H

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace shoal {

/// Policies say what is saved; the rest is computed again. What cannot be, as
/// what was sent, is saved by all of them.
struct RematerializePolicy {
  enum class Kind {
    /// `everything`
    Everything,
    /// `nothing`
    Nothing,
    /// `dots`: results of products
    Dots,
    /// `dots_no_batch`: of products without a batch dimension
    DotsNoBatch,
    /// `selective`: all but what lies between two products of values that are
    /// not weights, as scores and softmax of attention (Korthikanti et al.,
    /// "Reducing Activation Recomputation in Large Transformer Models",
    /// section 5)
    Selective,
    /// `names:a,b`: values behind shoal.checkpoint_name "a" and "b"
    Names,
  };

  Kind kind = Kind::Everything;
  /// Of Kind::Names.
  std::vector<std::string> names;

  /// Nothing where the text is none of those above.
  static std::optional<RematerializePolicy> parse(llvm::StringRef text);
  /// For errors: "everything, nothing, ... or names:NAME,...".
  static constexpr llvm::StringLiteral kExpected =
      "everything, nothing, dots, dots_no_batch, selective or names:NAME,...";
};

} // namespace shoal

#endif // SHOAL_DIALECT_SHOAL_IR_REMATERIALIZEPOLICY_H
