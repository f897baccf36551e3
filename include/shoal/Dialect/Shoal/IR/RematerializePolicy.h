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
/// loops, is saved by all of them, and so is what was sent unless `collectives`
/// says otherwise.
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
    /// `offload`: everything, in a memory beside the device's. No target has
    /// one so far: where it is asked for is an error.
    Offload,
    /// `names:a,b`: values behind shoal.checkpoint_name "a" and "b"
    Names,
  };

  /// What a backward pass sends again, whatever `kind` says of other ops.
  enum class Collectives {
    /// `save`: nothing.
    Save,
    /// `params`: parameters that devices sent each other are not kept whole for
    /// the backward pass, which sends them again, as ZeRO's third stage does
    /// (Rajbhandari et al., "ZeRO", section 5.3). The rest is saved.
    Params,
    /// `repeat`: what costs least, by the bytes that it sends.
    Repeat,
  };

  Kind kind = Kind::Everything;
  /// Of Kind::Names.
  std::vector<std::string> names;
  Collectives collectives = Collectives::Save;

  /// Nothing where the text is none of those above.
  static std::optional<RematerializePolicy> parse(llvm::StringRef text);
  /// For errors: "everything, nothing, ... or names:NAME,...".
  static constexpr llvm::StringLiteral kExpected =
      "everything, nothing, dots, dots_no_batch, selective, offload or "
      "names:NAME,...";

  /// As `parse`, of `collectives`.
  static std::optional<Collectives> parseCollectives(llvm::StringRef text);
  static constexpr llvm::StringLiteral kExpectedCollectives =
      "save, params or repeat";
};

} // namespace shoal

#endif // SHOAL_DIALECT_SHOAL_IR_REMATERIALIZEPOLICY_H
