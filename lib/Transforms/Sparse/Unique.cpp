// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Unique.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "shoal/Dialect/Shoal/IR/ReductionOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

namespace {

class UniquenessProof {
public:
  UniquenessProof(const Forms &forms, TermRange others, TermRange areInRange,
                  Term token)
      : forms(forms), terms(forms.terms), others(others),
        areInRange(areInRange), token(token) {}

  /// Whether the place differs for all tokens of which the others agree.
  bool counts(Term place, unsigned depth = 0) const;

private:
  bool dependsOnToken(Term term) const;
  bool isRunningSum(Term element) const;
  bool isPositiveThere(Value summed, TermRange index) const;
  Term expand(Term element) const;

  const Forms &forms;
  Terms &terms;
  TermRange others;
  /// That the others are in range, which is so of all rows that count.
  TermRange areInRange;
  Term token;
};

template <typename Op>
bool isOp(Term term) {
  return term->kind == TermKind::Op &&
         term->name->getStringRef() == Op::getOperationName();
}

} // namespace

/// In another way than by the other places.
bool UniquenessProof::dependsOnToken(Term term) const {
  if (llvm::is_contained(others, term) || !term->dependsOn(token))
    return false;
  return term == token || llvm::any_of(term->operands, [&](Term operand) {
           return dependsOnToken(operand);
         });
}

Term UniquenessProof::expand(Term element) const {
  const Rewrite *rewrite = forms.lookupRewrite(element->value);
  if (rewrite)
    return rewrite->term
               ? terms.at(rewrite->term, element->value, element->operands)
               : nullptr;
  Term definition = terms.definition(element->value, element->operands);
  return definition && definition->kind != TermKind::Sum ? definition : nullptr;
}

/// `index` is a token and what it says: there is an exception, and what the
/// others add is not negative.
bool UniquenessProof::isPositiveThere(Value summed, TermRange index) const {
  const Form *form = forms.lookup(summed);
  if (!form || terms.number(form->background) !=
                   terms.zero(tensorType(summed).getElementType()))
    return false;
  Substitution at;
  for (auto [from, to] : llvm::zip_equal(terms.indicesOf(summed), index))
    if (!llvm::is_contained(form->dims, from))
      at[from] = to;
  bool isThere = false;
  for (const Exception &exception : form->exceptions) {
    auto range = terms.range(exception.value);
    if (!range || range->smin().isNegative())
      return false;
    bool isHere = llvm::all_of(
        llvm::zip_equal(form->dims, exception.places), [&](auto pair) {
          auto [dim, place] = pair;
          return terms.substitute(place, at) == index[dim->id];
        });
    isThere |= isHere && range->smin().isStrictlyPositive();
  }
  return isThere;
}

bool UniquenessProof::isRunningSum(Term element) const {
  auto op = element->value.getDefiningOp<CumulativeOp>();
  if (!op || op.getKind() != ReduceKind::Sum ||
      !element->type.isSignlessInteger(32))
    return false;
  int64_t dim = op.getDim();
  ArrayRef<int64_t> shape = tensorType(op.getInput()).getShape();
  if (element->operands[dim] != token || token->size != shape[dim])
    return false;
  for (auto [i, index] : llvm::enumerate(element->operands))
    if (int64_t(i) != dim && dependsOnToken(index))
      return false;
  return isPositiveThere(op.getInput(), element->operands);
}

bool UniquenessProof::counts(Term place, unsigned depth) const {
  constexpr unsigned kMaxExpansions = 16;
  if (depth > kMaxExpansions)
    return false;
  auto next = [&](Term term) { return counts(term, depth + 1); };
  if (place->isElement()) {
    if (isRunningSum(place))
      return true;
    Term expanded = expand(place);
    return expanded && next(expanded);
  }
  if (isOp<arith::AddIOp>(place) || isOp<arith::SubIOp>(place)) {
    Term a = place->operands[0], b = place->operands[1];
    if (!dependsOnToken(b))
      return next(a);
    return isOp<arith::AddIOp>(place) && !dependsOnToken(a) && next(b);
  }
  // A place that is out of range is no place.
  if (isOp<arith::SelectOp>(place)) {
    auto none = terms.range(place->operands[2]);
    bool isKnown = llvm::is_contained(areInRange, place->operands[0]) ||
                   (none && none->smax().isNegative());
    return isKnown && next(place->operands[1]);
  }
  return false;
}

bool sparse::areUnique(const Forms &forms, TermRange dims, TermRange places,
                       Term token) {
  for (size_t i = 0; i < places.size(); ++i) {
    TermList others, areInRange;
    for (auto [dim, place] : llvm::zip_equal(dims, places)) {
      if (dim == dims[i])
        continue;
      others.push_back(place);
      areInRange.push_back(forms.terms.isInRange(place, dim->size));
    }
    UniquenessProof proof(forms, others, areInRange, token);
    if (proof.counts(places[i]))
      return true;
  }
  return false;
}
