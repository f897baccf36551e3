// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../Forms.h"
#include "Models.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "shoal/Dialect/Shoal/IR/ReductionOps.h"
#include "shoal/Support/Threshold.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

// Models replace the interface's defaults.
// NOLINTBEGIN(bugprone-derived-method-shadowing-base-method)
namespace {

/// A sum is a contraction of one operand. Integers are summed as they are, and
/// floats of 16 bits as einsum does.
Contraction toContraction(ReduceOp op, Terms &terms, TermRange index) {
  Contraction result{op.getResult(), {op.getInput()}, {{}}, {}};
  const Term *next = index.begin();
  for (auto [dim, size] :
       llvm::enumerate(tensorType(op.getInput()).getShape())) {
    if (llvm::is_contained(op.getDims(), int64_t(dim)))
      result.summed.push_back(terms.freshIndex(size));
    result.letters[0].push_back(llvm::is_contained(op.getDims(), int64_t(dim))
                                    ? result.summed.back()
                                    : *next++);
  }
  return result;
}

/// Of few elements without a sum: written out.
const support::Threshold
    manyWrittenOut("elements of a mask's reduction, one by one", 17);

template <typename FloatOp, typename IntOp, typename TruthOp>
Term combine(Terms &terms, Term a, Term b) {
  return isa<FloatType>(a->type) ? terms.op<FloatOp>(a->type, {a, b})
         : a->type.isInteger(1)  ? terms.op<TruthOp>(a->type, {a, b})
                                 : terms.op<IntOp>(a->type, {a, b});
}

/// Max, min, and, or: those that leave equal elements as they are.
Term combine(Terms &terms, ReduceKind kind, Term a, Term b) {
  using namespace arith;
  switch (kind) {
  case ReduceKind::Max:
    return combine<MaximumFOp, MaxSIOp, OrIOp>(terms, a, b);
  case ReduceKind::Min:
    return combine<MinimumFOp, MinSIOp, AndIOp>(terms, a, b);
  case ReduceKind::And:
    return terms.op<AndIOp>(a->type, {a, b});
  case ReduceKind::Or:
    return terms.op<OrIOp>(a->type, {a, b});
  case ReduceKind::Sum:
  case ReduceKind::Prod:
    return nullptr;
  }
  return nullptr;
}

/// The elements that are reduced to one: their indices, or none if there are
/// too many.
SmallVector<TermList> writeOut(ReduceOp op, Terms &terms, TermRange index) {
  SmallVector<TermList> all = {{}};
  const Term *next = index.begin();
  for (auto [dim, size] :
       llvm::enumerate(tensorType(op.getInput()).getShape())) {
    bool isReduced = llvm::is_contained(op.getDims(), int64_t(dim));
    if (isReduced &&
        (size == 0 || manyWrittenOut.isReachedBy(int64_t(all.size()) * size)))
      return {};
    Term own = isReduced ? nullptr : *next++;
    SmallVector<TermList> longer;
    for (const TermList &prefix : all)
      for (int64_t i = 0; i < (isReduced ? size : 1); ++i) {
        longer.push_back(prefix);
        longer.back().push_back(own ? own : terms.integer(i));
      }
    all = std::move(longer);
  }
  return all;
}

Term combineAll(ReduceOp op, Terms &terms, TermRange elements) {
  Term all = nullptr;
  for (Term element : elements) {
    all = all ? combine(terms, op.getKind(), all, element) : element;
    if (!all)
      return nullptr;
  }
  return all;
}

/// (L3) Over few elements of a dimension without places.
Outcome reduceForms(ReduceOp op, Forms &forms) {
  Terms &terms = forms.terms;
  const Form *form = forms.lookup(op.getInput());
  for (Term dim : form->dims)
    if (llvm::is_contained(op.getDims(), dim->id))
      return "a dimension with places is reduced, but not by a sum";
  TermList from = terms.indicesOf(op.getInput()),
           to = terms.indicesOf(op.getResult());
  SmallVector<TermList> indices = writeOut(op, terms, to);
  Term background = terms.number(form->background);
  if (indices.empty() || !form->isDistinct ||
      combine(terms, op.getKind(), background, background) != background)
    return "more than 16 elements are reduced, or to another background";
  SmallVector<Form, 0> lists;
  for (const TermList &index : indices) {
    Substitution at;
    for (auto [old, now] : llvm::zip_equal(from, index))
      if (!llvm::is_contained(form->dims, old))
        at[old] = now;
    lists.push_back(sparse::substitute(terms, *form, at));
    for (Term &dim : lists.back().dims)
      dim = index[dim->id];
    llvm::sort(lists.back().dims, [](Term a, Term b) { return a->id < b->id; });
  }
  Outcome places = forms.unite(
      llvm::map_to_vector(lists, [](const Form &list) { return &list; }));
  if (!places.form)
    return places;
  for (Exception &exception : places.form->exceptions) {
    Substitution at;
    for (auto [dim, place] :
         llvm::zip_equal(places.form->dims, exception.places))
      at[dim] = place;
    TermList elements;
    for (const Form &list : lists)
      elements.push_back(forms.sample(list, at));
    exception.value = combineAll(op, terms, elements);
  }
  return places;
}

struct Reduce : ElementOpInterface::ExternalModel<Reduce, ReduceOp> {
  Term getElement(Operation *op, Terms &terms, unsigned,
                  TermRange index) const {
    auto reduce = cast<ReduceOp>(op);
    if (reduce.getKind() != ReduceKind::Sum) {
      TermList elements;
      for (const TermList &at : writeOut(reduce, terms, index))
        elements.push_back(terms.element(reduce.getInput(), at));
      return combineAll(reduce, terms, elements);
    }
    Contraction c = toContraction(reduce, terms, index);
    return terms.sum(c.summed, {terms.element(c.operands[0], c.letters[0])},
                     tensorType(c.result).getElementType());
  }

  Outcome getForm(Operation *op, Forms &forms) const {
    auto reduce = cast<ReduceOp>(op);
    if (!forms.lookup(reduce.getInput()))
      return {};
    if (reduce.getKind() != ReduceKind::Sum)
      return reduceForms(reduce, forms);
    return forms.contract(toContraction(
        reduce, forms.terms, forms.terms.indicesOf(op->getResult(0))));
  }
};

} // namespace
// NOLINTEND(bugprone-derived-method-shadowing-base-method)

void shoal::registerReductionElementModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    ReduceOp::attachInterface<Reduce>(*context);
  });
}
