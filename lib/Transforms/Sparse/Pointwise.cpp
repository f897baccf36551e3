// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Elementwise ops on forms: L1 to L7.

#include "Forms.h"
#include "shoal/Interfaces/PartitionInterfaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

namespace {

/// An elementwise op, some operands of which have forms.
class Pointwise {
public:
  Pointwise(Operation *op, Forms &forms)
      : op(op), forms(forms), terms(forms.terms),
        index(terms.indicesOf(op->getResult(0))) {
    if (auto model = dyn_cast<FactorRuleOpInterface>(op))
      linearIn = model.getFactorRule().linearIn;
    for (Value operand : op->getOperands()) {
      const Form *form = forms.lookup(operand);
      operands.push_back(form);
      if (form && !form->isDistinct && !isLinearIn(operands.size() - 1))
        regrouped.push_back(operands.size() - 1);
    }
    grouped.reserve(regrouped.size());
  }

  Outcome run() {
    if (llvm::none_of(operands, [](const Form *form) { return form; }))
      return {};
    if (auto sum = addLists())
      return *sum;
    for (unsigned i : regrouped) {
      Outcome apart = forms.group(*operands[i]);
      if (!apart.form)
        return apart;
      grouped.push_back(std::move(*apart.form));
      operands[i] = &grouped.back();
    }
    if (Outcome product = annihilate(); product.form || !product.reason.empty())
      return product;
    return unite();
  }

private:
  bool isLinearIn(unsigned i) const {
    return llvm::is_contained(linearIn, SmallVector<unsigned, 2>{i});
  }

  /// The op on scalars, some of which are backgrounds.
  Term combine(TermRange values) {
    if (auto model = dyn_cast<ElementOpInterface>(op))
      if (Term term = model.foldBackground(terms, values))
        return term;
    return terms.op(op, values);
  }

  Term denseOperand(unsigned i, const Substitution &at) {
    Term element = terms.element(op->getOperand(i), index);
    return terms.substitute(element, at);
  }

  Substitution placesOf(const Form &form, const Exception &exception) {
    Substitution at;
    for (auto [dim, place] : llvm::zip_equal(form.dims, exception.places))
      at[dim] = place;
    return at;
  }

  /// (L7) Sums of forms with background zero: both lists, or aligned ones.
  std::optional<Outcome> addLists();
  /// (L4, L5) Where the op is a number as soon as one operand is background.
  Outcome annihilate();
  /// (L3, L6) Where it is a number when all are.
  Outcome unite();

  /// The operands that annihilate the others, in the order in which to join
  /// them; the background that they give.
  SmallVector<unsigned> findAnnihilators(Term &background);
  Form fill(const Form &places, TypedAttr background);
  bool areAligned(const Form &a, const Form &b) const {
    return a.exceptions.size() == b.exceptions.size() &&
           llvm::all_of(
               llvm::zip_equal(a.exceptions, b.exceptions), [](auto pair) {
                 return std::get<0>(pair).places == std::get<1>(pair).places;
               });
  }

  Operation *op;
  Forms &forms;
  Terms &terms;
  TermList index;
  SmallVector<SmallVector<unsigned, 2>, 2> linearIn;
  SmallVector<const Form *, 3> operands;
  SmallVector<unsigned> regrouped;
  SmallVector<Form, 0> grouped;
};

} // namespace

std::optional<Outcome> Pointwise::addLists() {
  bool isAdditive = llvm::any_of(linearIn, [&](ArrayRef<unsigned> set) {
    return set.size() == operands.size();
  });
  const Form *first = operands[0];
  if (!isAdditive || !first)
    return std::nullopt;
  Term zero = terms.zero(terms.number(first->background)->type);
  for (const Form *form : operands)
    if (!form || form->dims != first->dims ||
        terms.number(form->background) != zero)
      return std::nullopt;
  if (operands.size() == 2 && first->isDistinct && operands[1]->isDistinct &&
      areAligned(*first, *operands[1]))
    return std::nullopt;
  Form result;
  result.dims = first->dims;
  TermList backgrounds(operands.size(), zero);
  result.background = combine(backgrounds)->number;
  for (auto [i, form] : llvm::enumerate(operands))
    for (const Exception &exception : form->exceptions) {
      TermList values = backgrounds;
      values[i] = exception.value;
      Exception added{exception.places, combine(values)};
      for (const Exception &other : result.exceptions)
        result.isDistinct &= llvm::any_of(
            llvm::zip_equal(added.places, other.places), [&](auto pair) {
              return terms.areNeverEqual(std::get<0>(pair), std::get<1>(pair));
            });
      result.exceptions.push_back(std::move(added));
    }
  for (const Form *form : operands)
    result.isDistinct &= form->isDistinct;
  return Outcome(std::move(result));
}

SmallVector<unsigned> Pointwise::findAnnihilators(Term &background) {
  SmallVector<unsigned> found;
  for (auto [i, form] : llvm::enumerate(operands)) {
    if (!form)
      continue;
    TermList values;
    for (auto [j, other] : llvm::enumerate(operands))
      values.push_back(j == i  ? terms.number(form->background)
                       : other ? terms.opaqueElement(op->getOperand(j), index)
                               : denseOperand(j, Substitution()));
    Term value = combine(values);
    if (!value->isNumber() || (background && background != value))
      continue;
    background = value;
    found.push_back(i);
  }
  llvm::sort(found, [&](unsigned a, unsigned b) {
    return std::tuple(-int(operands[a]->dims.size()),
                      operands[a]->exceptions.size(),
                      a) < std::tuple(-int(operands[b]->dims.size()),
                                      operands[b]->exceptions.size(), b);
  });
  return found;
}

/// The op at the places of a form: with the operands' elements there.
Form Pointwise::fill(const Form &places, TypedAttr background) {
  Form result = places;
  result.background = background;
  result.exceptions.clear();
  for (const Exception &exception : places.exceptions) {
    Substitution at = placesOf(places, exception);
    TermList values;
    for (auto [j, other] : llvm::enumerate(operands))
      values.push_back(other ? forms.sample(*other, at) : denseOperand(j, at));
    Term value = combine(values);
    if (value != terms.number(background))
      result.exceptions.push_back(Exception{exception.places, value});
  }
  return result;
}

Outcome Pointwise::annihilate() {
  Term background = nullptr;
  SmallVector<unsigned> annihilators = findAnnihilators(background);
  if (annihilators.empty())
    return {};
  Form places = *operands[annihilators[0]];
  auto first = [](Term a, Term) { return a; };
  for (unsigned i : llvm::drop_begin(annihilators)) {
    const Form &other = *operands[i];
    if (llvm::all_of(other.dims, [&](Term dim) {
          return llvm::is_contained(places.dims, dim);
        }))
      continue;
    Outcome joined = forms.conjoin(places, other, first);
    // What cannot be joined is sampled: dense in its own dimensions.
    if (joined.form)
      places = std::move(*joined.form);
  }
  // Sums of those that meet: each is a part of the element.
  if (!places.isDistinct) {
    Outcome apart = forms.group(places);
    if (!apart.form)
      return apart;
    places = std::move(*apart.form);
  }
  return fill(places, background->number);
}

Outcome Pointwise::unite() {
  TermList backgrounds;
  const Form *first = nullptr;
  for (auto [i, form] : llvm::enumerate(operands)) {
    backgrounds.push_back(form ? terms.number(form->background)
                               : denseOperand(i, Substitution()));
    if (!form)
      continue;
    if (first && first->dims != form->dims)
      return "the operands' places are in other dimensions";
    if (!first)
      first = form;
  }
  Term background = combine(backgrounds);
  if (!background->isNumber())
    return "a tensor is added to the background";
  SmallVector<const Form *, 3> lists;
  for (const Form *form : operands)
    if (form && (lists.empty() || !areAligned(*first, *form)))
      lists.push_back(form);
  Outcome places = forms.unite(lists);
  return places.form ? fill(*places.form, background->number) : places;
}

Outcome Forms::pointwise(Operation *op) { return Pointwise(op, *this).run(); }
