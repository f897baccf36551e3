// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What an exception's value is given that the exception is there: L13.
//
// Routers drop a token twice, by a place that is no slot and by a weight of
// zero, keep = place < C. Where the place is a slot the weight is one, and a
// product with it need not be made.

#include "Forms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

namespace {

class Presence {
public:
  explicit Presence(Terms &terms) : terms(terms) {}

  /// `place` is a row of a dimension of `size` rows.
  void assumeInRange(Term place, int64_t size);
  /// The term, those parts of it folded that are numbers by now.
  Term simplify(Term term);

private:
  void assumeTrue(Term condition);
  Term fold(Term term);
  Term foldElement(Term term);

  Terms &terms;
  Substitution known, folded, simplified;
  unsigned numExpansions = 0;
};

} // namespace

void Presence::assumeTrue(Term condition) {
  bool isNew = known.try_emplace(condition, terms.boolean(true)).second;
  if (isNew && isOp<arith::AndIOp>(condition))
    for (Term part : condition->operands)
      assumeTrue(part);
}

void Presence::assumeInRange(Term place, int64_t size) {
  if (isOp<arith::SelectOp>(place) &&
      terms.isInRange(place->operands[2], size) == terms.boolean(false)) {
    assumeTrue(place->operands[0]);
    return assumeInRange(place->operands[1], size);
  }
  if (place->isElement())
    if (Term definition = terms.definition(place->value, place->operands);
        definition && definition->kind == TermKind::Op)
      assumeInRange(definition, size);
  // An index of that size has its range, which comparisons are folded by.
  Term index = terms.freshIndex(size);
  if (!place->isNumber() && !place->isIndex() && place->type == index->type)
    known[place] = index;
}

/// By its definition where that is all it takes to know its number.
Term Presence::foldElement(Term term) {
  constexpr unsigned kMaxExpansions = 64;
  if (numExpansions == kMaxExpansions)
    return term;
  ++numExpansions;
  Term definition = terms.definition(term->value, term->operands);
  if (!definition || definition->kind != TermKind::Op)
    return term;
  Term number = fold(definition);
  return number->isNumber() || number->isIndex() ? number : term;
}

Term Presence::fold(Term term) {
  if (Term fact = known.lookup(term))
    return fact;
  if (Term done = folded.lookup(term))
    return done;
  Term result = term;
  if (term->isElement()) {
    result = foldElement(term);
  } else if (term->kind == TermKind::Op) {
    TermList operands;
    for (Term operand : term->operands)
      operands.push_back(fold(operand));
    result = terms.op(*term->name, term->attributes, term->type, operands);
  }
  return folded[term] = result;
}

Term Presence::simplify(Term term) {
  if (Term number = fold(term); number->isNumber())
    return number;
  if (term->kind != TermKind::Op)
    return term;
  // Terms share operands: each is looked at once.
  if (Term done = simplified.lookup(term))
    return done;
  TermList operands;
  for (Term operand : term->operands)
    operands.push_back(simplify(operand));
  return simplified[term] =
             terms.op(*term->name, term->attributes, term->type, operands);
}

Term sparse::valueWhereThere(Terms &terms, TermRange dims,
                             const Exception &exception) {
  Presence presence(terms);
  for (auto [dim, place] : llvm::zip_equal(dims, exception.places))
    presence.assumeInRange(place, dim->size);
  return presence.simplify(exception.value);
}
