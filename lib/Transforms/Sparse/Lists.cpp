// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Lists of exceptions: grouped, united, joined.

#include "Forms.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

/// Whether the places of two exceptions are the same in all dimensions.
static Term meet(Terms &terms, const Exception &a, const Exception &b) {
  Term condition = terms.boolean(true);
  for (auto [place, other] : llvm::zip_equal(a.places, b.places))
    condition = terms.conjunction(condition, terms.equal(place, other));
  return condition;
}

static bool neverMeet(Terms &terms, const Exception &a, const Exception &b) {
  return llvm::any_of(llvm::zip_equal(a.places, b.places), [&](auto pair) {
    return terms.areNeverEqual(std::get<0>(pair), std::get<1>(pair));
  });
}

/// (L8) The first of those that meet has the sum; the others lose their place.
Outcome Forms::group(const Form &form) {
  // Each is compared with each: many only where it is known that they differ.
  constexpr size_t kMaxCompared = 16;
  Form result = form;
  result.isDistinct = true;
  for (size_t t = 0; t < form.exceptions.size(); ++t) {
    Exception &exception = result.exceptions[t];
    for (size_t u = 0; u < form.exceptions.size(); ++u) {
      const Exception &other = form.exceptions[u];
      if (u == t || neverMeet(terms, form.exceptions[t], other))
        continue;
      if (form.exceptions.size() > kMaxCompared)
        return "more than 16 exceptions, which may meet";
      Term same = meet(terms, form.exceptions[t], other);
      if (u < t)
        restrictTo(
            terms, exception,
            terms.select(same, terms.boolean(false), terms.boolean(true)));
      else
        exception.value = terms.plus(
            exception.value,
            terms.select(same, other.value, terms.number(form.background)));
    }
  }
  return result;
}

/// (L3) Places of more than one list count in the first.
Outcome Forms::unite(ArrayRef<const Form *> lists) {
  Form places;
  places.dims = lists.front()->dims;
  places.background = lists.front()->background;
  for (const Form *form : lists) {
    ArrayRef<Exception> all = form->exceptions;
    SmallVector<Exception, 2> earlier = places.exceptions;
    for (Exception exception : all) {
      for (const Exception &other : earlier) {
        Term same = meet(terms, exception, other);
        restrictTo(
            terms, exception,
            terms.select(same, terms.boolean(false), terms.boolean(true)));
      }
      places.exceptions.push_back(std::move(exception));
      if (places.exceptions.size() > kMaxExceptions)
        return "more than 64 exceptions";
    }
  }
  return places;
}

/// (L5) A pair that disagrees in a dimension that both forms have loses its
/// place, and not only its value: places say which exception an element is.
Outcome Forms::conjoin(const Form &first, const Form &second,
                       llvm::function_ref<Term(Term, Term)> combine) {
  const Form *a = &first, *b = &second;
  bool isSwapped = placesDependOn(*a, b->dims);
  if (isSwapped)
    std::swap(a, b);
  if (placesDependOn(*a, b->dims))
    return "the places of each operand depend on the other's";
  Form result;
  result.dims = a->dims;
  for (Term dim : b->dims)
    if (!llvm::is_contained(a->dims, dim))
      result.dims.push_back(dim);
  llvm::sort(result.dims, [](Term x, Term y) { return x->id < y->id; });
  result.isDistinct = a->isDistinct && b->isDistinct;
  result.background = first.background;
  for (const Exception &outer : a->exceptions) {
    Substitution at;
    for (auto [dim, place] : llvm::zip_equal(a->dims, outer.places))
      at[dim] = place;
    Form there = substitute(terms, *b, at);
    for (const Exception &inner : there.exceptions) {
      Exception pair;
      Term agree = terms.boolean(true);
      for (Term dim : result.dims) {
        Term own = at.lookup(dim);
        const auto *found = llvm::find(b->dims, dim);
        Term other = found == b->dims.end()
                         ? nullptr
                         : inner.places[found - b->dims.begin()];
        pair.places.push_back(own ? own : other);
        if (own && other)
          agree = terms.conjunction(agree, terms.equal(own, other));
      }
      if (agree == terms.boolean(false))
        continue;
      restrictTo(terms, pair, agree);
      // The outer value may depend on what the inner places say.
      Substitution inside;
      for (auto [dim, place] : llvm::zip_equal(result.dims, pair.places))
        inside[dim] = place;
      Term value = terms.substitute(outer.value, inside);
      Term other = terms.substitute(inner.value, inside);
      pair.value = isSwapped ? combine(other, value) : combine(value, other);
      result.exceptions.push_back(std::move(pair));
      if (result.exceptions.size() > kMaxExceptions)
        return "more than 64 exceptions";
    }
  }
  return result;
}
