// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Unique.h"
#include "WholeNumbers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "shoal/Dialect/Shoal/IR/ReductionOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

namespace {

class UniquenessProof {
public:
  UniquenessProof(Forms &forms, TermRange others, TermRange areInRange,
                  Term token)
      : forms(forms), terms(forms.terms), numbers(forms), others(others),
        areInRange(areInRange), token(token) {}

  /// Whether the place differs for all tokens of which the others agree.
  bool counts(Term place, unsigned depth = 0) const;

private:
  bool dependsOnToken(Term term) const;
  bool isRunningSum(Term element) const;
  bool isPositiveThere(Value summed, TermRange index) const;
  Term expand(Term element) const;
  bool countsSum(Term sum, unsigned depth) const;
  bool countsChoice(Term choice, unsigned depth) const;

  Forms &forms;
  Terms &terms;
  WholeNumbers numbers;
  TermRange others;
  /// That the others are in range, which is so of all rows that count.
  TermRange areInRange;
  Term token;
};

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
    auto range = numbers.of(exception.value);
    if (!range || range->low < 0)
      return false;
    bool isHere = llvm::all_of(
        llvm::zip_equal(form->dims, exception.places), [&](auto pair) {
          auto [dim, place] = pair;
          return terms.substitute(place, at) == index[dim->id];
        });
    isThere |= isHere && range->low > 0;
  }
  return isThere;
}

bool UniquenessProof::isRunningSum(Term element) const {
  auto op = element->value.getDefiningOp<CumulativeOp>();
  bool isExact = element->type.isSignlessInteger(32) ||
                 (isa<FloatType>(element->type) && numbers.of(element));
  if (!op || op.getKind() != ReduceKind::Sum || !isExact)
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

/// Of a count and what the others add to it. Floats only where nothing is
/// rounded.
bool UniquenessProof::countsSum(Term sum, unsigned depth) const {
  if (isa<FloatType>(sum->type) && !numbers.of(sum))
    return false;
  // The mask at the token's own place is one.
  auto known = [&](Term term) {
    return term->isElement() && forms.lookup(term->value)
               ? forms.element(term->value, term->operands)
               : term;
  };
  Term a = known(sum->operands[0]), b = known(sum->operands[1]);
  if (!dependsOnToken(b))
    return counts(a, depth);
  return isOp<arith::AddIOp, arith::AddFOp>(sum) && !dependsOnToken(a) &&
         counts(b, depth);
}

/// Of a place, or none.
bool UniquenessProof::countsChoice(Term choice, unsigned depth) const {
  Term condition = choice->operands[0], place = choice->operands[1];
  // What conversions make of numbers that are too large, which counts are not.
  if (std::optional<bool> chosen = numbers.decide(condition))
    return counts(choice->operands[*chosen ? 1 : 2], depth);
  // A place that is out of range is no place.
  auto none = terms.range(choice->operands[2]);
  bool isKnown = llvm::is_contained(areInRange, condition) ||
                 (none && none->smax().isNegative());
  if (!isKnown)
    return false;
  // A float that is a place: both are the same number.
  if (isOp<arith::CmpFOp>(condition) &&
      cast<arith::CmpFPredicateAttr>(condition->attributes.get("predicate"))
              .getValue() == arith::CmpFPredicate::OEQ)
    for (unsigned which : {0u, 1u})
      if (Term own = condition->operands[which];
          isOp<arith::SIToFPOp>(own) && own->operands[0] == place)
        return counts(condition->operands[1 - which], depth);
  return counts(place, depth);
}

bool UniquenessProof::counts(Term place, unsigned depth) const {
  constexpr unsigned kMaxExpansions = 16;
  if (depth > kMaxExpansions)
    return false;
  if (place->isElement()) {
    if (isRunningSum(place))
      return true;
    Term expanded = expand(place);
    return expanded && counts(expanded, depth + 1);
  }
  if (isOp<arith::AddIOp, arith::SubIOp, arith::AddFOp, arith::SubFOp>(place))
    return countsSum(place, depth + 1);
  if (isOp<arith::FPToSIOp, arith::FPToUIOp>(place))
    return numbers.of(place->operands[0]) &&
           counts(place->operands[0], depth + 1);
  if (isOp<arith::SelectOp>(place))
    return countsChoice(place, depth + 1);
  return false;
}

bool sparse::areUnique(Forms &forms, TermRange dims, TermRange places,
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
