// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The parts of applyChoice, for who asks of many choices, in which no axis
// stands twice and passes name sets that there are.

#ifndef SHOAL_LIB_SHARDING_SPLITPARTS_H
#define SHOAL_LIB_SHARDING_SPLITPARTS_H

#include "shoal/Sharding/FactorRule.h"

namespace shoal {

/// Whether what devices compute of a split factor are addends that may stay
/// apart.
inline bool isSum(const Factor &factor) {
  return factor.kind == FactorKind::Reduction &&
         factor.reduction == ReduceKind::Sum;
}

/// Whether factors may be split so, as far as that does not hang on their order
/// in a dimension.
bool factorsAllow(const FactorRule &rule, const FactorSharding &choice,
                  const Mesh &mesh);

/// The sharding of one operand, or one result; nothing where a minor factor of
/// a dimension is split before its major one.
std::optional<Sharding> operandSharding(const FactorRule &rule,
                                        const FactorSharding &choice,
                                        unsigned operand, const Mesh &mesh);
std::optional<Sharding> resultSharding(const FactorRule &rule,
                                       const FactorSharding &choice,
                                       unsigned result, const Mesh &mesh);

} // namespace shoal

#endif // SHOAL_LIB_SHARDING_SPLITPARTS_H
