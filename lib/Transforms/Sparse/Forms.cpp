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

bool sparse::hasElements(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && tensor.getNumElements() > 0;
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
  if (lookupRewrite(result) && !isForReaders(result))
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

//===----------------------------------------------------------------------===//
// Joins
//===----------------------------------------------------------------------===//

Value Forms::makeStandIn(RankedTensorType type, Operation *owner) {
  Value made = standIns.addArgument(type, owner->getLoc());
  standInOwners[made] = owner;
  return made;
}

void Forms::lose(Value tensor, Value source, Operation *op) {
  if (lookup(source))
    losses.try_emplace(
        tensor, Loss{op, "its regions have no form in common with others"});
  else if (const Loss *earlier = lookupLoss(source)) {
    Loss copy = *earlier;
    losses.try_emplace(tensor, std::move(copy));
  }
}

void Forms::forget(Value tensor) {
  forms.erase(tensor);
  rewrites.erase(tensor);
  losses.erase(tensor);
  notes.erase(tensor);
  moves.erase(tensor);
  contractions.erase(tensor);
  forReaders.erase(tensor);
}

void Forms::forgetRegionsOf(Operation *op) {
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      for (Value argument : block.getArguments())
        forget(argument);
      block.walk([&](Operation *inner) {
        joinedForms.erase(inner);
        for (Value result : inner->getResults())
          forget(result);
        for (Region &nested : inner->getRegions())
          for (Value argument : nested.getArguments())
            forget(argument);
      });
    }
}
