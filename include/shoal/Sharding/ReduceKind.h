// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How the partial results of a reduction combine. The algebra of a kind, its
// identity and what it makes of two elements, is written once for each of three
// who must not learn it from each other: for builders of IR
// (Dialect/Shoal/IR/Algebra.h), for the runtime (Runtime/Program/Arithmetic.h),
// and for the reference interpreter, which is the others' oracle
// (Reference/Combiner.h). A test compares them.

#ifndef SHOAL_SHARDING_REDUCEKIND_H
#define SHOAL_SHARDING_REDUCEKIND_H

#include "llvm/ADT/StringRef.h"
#include <optional>

namespace shoal {

/// The combiner of a reduction. For all who compute with it:
///
/// * Integers wrap, and `Max` and `Min` compare them with their sign.
/// * `Max` and `Min` of floats give NaN if either is NaN, and order -0 before
///   +0: maximum and minimum of IEEE 754-2019.
/// * `And` and `Or` are bitwise, and there are none of floats.
/// * An i1 is a truth value: `Sum`, `Max` and `Or` mean or; `Prod`, `Min` and
///   `And` mean and. Nothing wraps, and true is greater than false. Verifiers
///   let programs say only `And` and `Or` of it.
/// * The identity starts a reduction, and is its result over no element: +0 for
///   a sum of floats; for `Max` the least value, -inf or, where the type has no
///   infinity, its least number. The neutral element changes nothing it is
///   combined with: it is the identity but for sums of floats, where it is -0,
///   since -0 + +0 is +0.
///
/// The numbers are those of the attribute, and of the runtime's shoal_rt_kind.
enum class ReduceKind : uint32_t {
  Sum = 0,
  Prod = 1,
  Max = 2,
  Min = 3,
  And = 4,
  Or = 5
};

/// `sum`, `prod`, ..., as programs spell it.
llvm::StringRef stringifyReduceKind(ReduceKind kind);
/// Nothing where no kind is spelled so, or has this number.
std::optional<ReduceKind> symbolizeReduceKind(llvm::StringRef name);
std::optional<ReduceKind> symbolizeReduceKind(uint32_t number);

} // namespace shoal

#endif // SHOAL_SHARDING_REDUCEKIND_H
