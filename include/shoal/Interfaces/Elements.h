// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The values that ElementOpInterface speaks of.

#ifndef SHOAL_INTERFACES_ELEMENTS_H
#define SHOAL_INTERFACES_ELEMENTS_H

#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <string>

namespace shoal::sparse {

/// A scalar as a formula of indices and elements of tensors. Equal terms are
/// one: they are compared by address.
struct TermNode;
using Term = const TermNode *;
using TermList = llvm::SmallVector<Term, 4>;
using TermRange = llvm::ArrayRef<Term>;

/// Makes terms, and knows the definition of tensors' elements.
class Terms;
/// Knows the forms of tensors.
class Forms;

/// An element that differs from the background: at `places`, one for each
/// dimension that the form names, which are terms of the other dimensions'
/// indices. A place out of its dimension's range is an exception that is not
/// there.
struct Exception {
  TermList places;
  Term value = nullptr;
};

/// A tensor that is a number but for some places of each line:
///
///   V[i] = background, but V[.., places_t, ..] = value_t
struct Form {
  /// The indices of the dimensions that places are for, by ascending number.
  TermList dims;
  llvm::SmallVector<Exception, 2> exceptions;
  mlir::TypedAttr background;
  /// No two exceptions meet in a place. Where they may, the background is zero
  /// and the element is the sum of those that meet.
  bool isDistinct = true;
};

/// A form, or why there is none. No reason: nothing special is known.
struct Outcome {
  std::optional<Form> form;
  std::string reason;

  Outcome() = default;
  Outcome(Form form) : form(std::move(form)) {}
  Outcome(std::string reason) : reason(std::move(reason)) {}
  Outcome(const char *reason) : reason(reason) {}
};

} // namespace shoal::sparse

#endif // SHOAL_INTERFACES_ELEMENTS_H
