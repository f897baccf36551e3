// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Floats that are whole numbers, as routers count tokens in.

#ifndef SHOAL_LIB_TRANSFORMS_SPARSE_WHOLENUMBERS_H
#define SHOAL_LIB_TRANSFORMS_SPARSE_WHOLENUMBERS_H

#include "Forms.h"

namespace shoal::sparse {

/// Whole numbers from `low` to `high`.
struct WholeRange {
  int64_t low, high;
};

/// What elements can be that are whole and that their type has exactly: in f32
/// those up to 2^24. Sums of such numbers are not rounded, in whatever order,
/// where the range of all of their parts is one.
class WholeNumbers {
public:
  explicit WholeNumbers(const Forms &forms)
      : forms(forms), terms(forms.terms) {}

  /// Of integers and floats; empty where the term may be something else.
  std::optional<WholeRange> of(Term term, unsigned depth = 0) const;
  /// Of all elements of a tensor.
  std::optional<WholeRange> of(mlir::Value tensor, unsigned depth = 0) const;
  /// What a comparison of floats says, where ranges decide it.
  std::optional<bool> decide(Term comparison) const;

private:
  std::optional<WholeRange> ofElement(Term element, unsigned depth) const;
  std::optional<WholeRange> ofOp(Term op, unsigned depth) const;
  std::optional<WholeRange> ofArithmetic(Term op, unsigned depth) const;
  std::optional<WholeRange> ofForm(const Form &form, unsigned depth) const;
  std::optional<WholeRange> ofSum(Term sum, unsigned depth) const;

  const Forms &forms;
  Terms &terms;
};

} // namespace shoal::sparse

#endif // SHOAL_LIB_TRANSFORMS_SPARSE_WHOLENUMBERS_H
