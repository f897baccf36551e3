// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Forms.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

//===----------------------------------------------------------------------===//
// Parts of forms
//===----------------------------------------------------------------------===//

Form sparse::substitute(Terms &terms, const Form &form,
                        const Substitution &substitution) {
  Form result = form;
  for (Exception &exception : result.exceptions) {
    for (Term &place : exception.places)
      place = terms.substitute(place, substitution);
    exception.value = terms.substitute(exception.value, substitution);
  }
  return result;
}

bool sparse::placesDependOn(const Form &form, TermRange indices) {
  return llvm::any_of(form.exceptions, [&](const Exception &exception) {
    return llvm::any_of(exception.places, [&](Term place) {
      return llvm::any_of(indices,
                          [&](Term index) { return place->dependsOn(index); });
    });
  });
}

void sparse::restrictTo(Terms &terms, Exception &exception, Term condition) {
  Term &place = exception.places.front();
  place = terms.select(condition, place, terms.integer(-1));
}

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

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Term Forms::sample(const Form &form, const Substitution &indices) {
  Form here = substitute(terms, form, indices);
  Term element = terms.number(form.background);
  auto isAt = [&](const Exception &exception) {
    Term condition = terms.boolean(true);
    for (auto [dim, place] : llvm::zip_equal(here.dims, exception.places)) {
      Term index = indices.lookup(dim);
      condition =
          terms.conjunction(condition, terms.equal(place, index ? index : dim));
    }
    return condition;
  };
  if (form.isDistinct) {
    // At its own place an exception is the only one.
    for (const Exception &exception : here.exceptions)
      if (isAt(exception) == terms.boolean(true))
        return exception.value;
    for (const Exception &exception : llvm::reverse(here.exceptions))
      element = terms.select(isAt(exception), exception.value, element);
    return element;
  }
  Term zero = element;
  for (const Exception &exception : here.exceptions) {
    Term addend = terms.select(isAt(exception), exception.value, zero);
    if (addend != zero)
      element = element == zero ? addend : terms.plus(element, addend);
  }
  return element;
}

Term Forms::element(Value tensor, TermRange index) {
  const Form *form = lookup(tensor);
  if (!form)
    return terms.element(tensor, index);
  Substitution substitution;
  for (auto [from, to] : llvm::zip_equal(terms.indicesOf(tensor), index))
    substitution[from] = to;
  return sample(*form, substitution);
}

//===----------------------------------------------------------------------===//
// Laws of lists
//===----------------------------------------------------------------------===//

/// (L8) The first of those that meet has the sum; the others lose their place.
Form Forms::group(const Form &form) {
  Form result = form;
  result.isDistinct = true;
  for (size_t t = 0; t < form.exceptions.size(); ++t) {
    Exception &exception = result.exceptions[t];
    for (size_t u = 0; u < form.exceptions.size(); ++u) {
      const Exception &other = form.exceptions[u];
      if (u == t || neverMeet(terms, form.exceptions[t], other))
        continue;
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
        auto found = llvm::find(b->dims, dim);
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

//===----------------------------------------------------------------------===//
// What is known of tensors
//===----------------------------------------------------------------------===//

const Form *Forms::lookup(Value tensor) const {
  auto known = forms.find(tensor);
  return known == forms.end() ? nullptr : &known->second;
}

const Rewrite *Forms::lookupRewrite(Value tensor) const {
  auto known = rewrites.find(tensor);
  return known == rewrites.end() ? nullptr : &known->second;
}

const Loss *Forms::lookupLoss(Value tensor) const {
  auto known = losses.find(tensor);
  return known == losses.end() ? nullptr : &known->second;
}

/// A model's own law; else that of views, or of elementwise ops.
Outcome Forms::transfer(Operation *op) {
  if (auto model = dyn_cast<ElementOpInterface>(op)) {
    Outcome own = model.getForm(*this);
    if (own.form || !own.reason.empty())
      return own;
    Value result = op->getResult(0);
    const Form *form =
        op->getNumOperands() ? lookup(op->getOperand(0)) : nullptr;
    if (auto map = model.mapIndex(terms, terms.indicesOf(result))) {
      if (!form)
        return {};
      return reindex(*form, *map, result);
    }
  }
  return isElementwiseOnTensors(op) ? pointwise(op) : Outcome();
}

/// A tensor that has elements.
static bool hasElements(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getNumElements() > 0;
}

void Forms::analyze(Operation *op) {
  if (op->getNumResults() == 0 ||
      !llvm::all_of(op->getResultTypes(), hasElements) ||
      !llvm::all_of(op->getOperandTypes(), hasElements))
    return;
  // Definitions are made in the order of the program, none within another.
  for (Value result : op->getResults())
    terms.definition(result);
  keep(op, op->getNumResults() == 1 ? transfer(op) : Outcome());
}

static bool isTooDeep(const Form &form) {
  return llvm::any_of(form.exceptions, [](const Exception &exception) {
    return exception.value->depth > kMaxDepth ||
           llvm::any_of(exception.places,
                        [](Term place) { return place->depth > kMaxDepth; });
  });
}

void Forms::keep(Operation *op, Outcome outcome) {
  Value result = op->getResult(0);
  if (outcome.form && outcome.form->exceptions.size() > kMaxExceptions)
    outcome = Outcome("more than 64 exceptions");
  if (outcome.form && isTooDeep(*outcome.form))
    outcome = Outcome("terms of too many ops");
  if (outcome.form) {
    forms[result] = std::move(*outcome.form);
    return;
  }
  if (lookupRewrite(result))
    return;
  for (Value operand : op->getOperands()) {
    if (lookup(operand)) {
      std::string reason =
          outcome.reason.empty() ? "its elements say nothing" : outcome.reason;
      losses.try_emplace(result, Loss{op, std::move(reason)});
    } else if (const Loss *earlier = lookupLoss(operand)) {
      Loss copy = *earlier;
      losses.try_emplace(result, std::move(copy));
    }
  }
}
