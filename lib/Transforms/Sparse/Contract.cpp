// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Sums of products over forms: L9 and L10.

#include "Contractor.h"
#include "shoal/Dialect/Shoal/IR/Algebra.h"
#include "shoal/Support/Threshold.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

/// As many elements of a summed dimension are written out one by one, where
/// places depend on it. The choices of a token may be more.
const support::Threshold
    manyUnrolled("rows of a mask's summed dimension, one by one", 17);

/// More rows of a token are read, or written, by one op instead of one for
/// each.
constexpr size_t kMaxApart = 8;

/// By letters. A background other than zero, or a letter that occurs twice,
/// makes no sums shorter.
std::optional<Form> Contractor::operandForm(unsigned i) {
  const Form *own = forms.lookup(c.operands[i]);
  if (!own || terms.number(own->background) !=
                  terms.zero(tensorType(c.operands[i]).getElementType()))
    return std::nullopt;
  Substitution letters;
  for (auto [index, letter] :
       llvm::zip_equal(terms.indicesOf(c.operands[i]), c.letters[i])) {
    if (llvm::count(c.letters[i], letter) > 1)
      return std::nullopt;
    letters[index] = letter;
  }
  Form result = substitute(terms, *own, letters);
  SmallVector<std::pair<Term, unsigned>> order;
  for (auto [k, dim] : llvm::enumerate(own->dims))
    order.push_back({letters.lookup(dim), k});
  llvm::sort(order, [](auto &a, auto &b) { return a.first->id < b.first->id; });
  for (auto [k, entry] : llvm::enumerate(order))
    result.dims[k] = entry.first;
  for (Exception &exception : result.exceptions) {
    TermList places = exception.places;
    for (auto [k, entry] : llvm::enumerate(order))
      exception.places[k] = places[entry.second];
  }
  return result;
}

/// False where no operand has a form.
bool Contractor::multiplyForms() {
  Type wide = getAccumulator(ReduceKind::Sum, type);
  auto multiply = [&](Term a, Term b) { return terms.product({a, b}, wide); };
  bool hasForm = false;
  for (unsigned i = 0; i < c.operands.size(); ++i) {
    std::optional<Form> own = operandForm(i);
    if (own && hasForm) {
      Outcome joined = forms.conjoin(form, *own, multiply);
      if (joined.form) {
        form = std::move(*joined.form);
        continue;
      }
    }
    if (own && !hasForm)
      form = std::move(*own), hasForm = true;
    else
      denseOperands.push_back(i);
  }
  return hasForm;
}

TermList Contractor::factorsAt(const Exception &exception) {
  Substitution at;
  for (auto [dim, place] : llvm::zip_equal(form.dims, exception.places))
    at[dim] = place;
  TermList factors = {valueWhereThere(terms, form.dims, exception)};
  for (unsigned i : denseOperands) {
    TermList index;
    for (Term letter : c.letters[i]) {
      Term place = at.lookup(letter);
      index.push_back(place ? place : letter);
    }
    factors.push_back(forms.element(c.operands[i], index));
  }
  return factors;
}

bool Contractor::placesMove(TermRange letters) const {
  return llvm::any_of(form.exceptions, [&](const Exception &exception) {
    return llvm::any_of(
        llvm::zip_equal(form.dims, exception.places), [&](auto pair) {
          auto [dim, place] = pair;
          return !isSummed(dim) && llvm::any_of(letters, [&](Term letter) {
            return place->dependsOn(letter);
          });
        });
  });
}

/// Whether a mask has them: there are fewer than lines of it.
bool Contractor::areChoices(Term letter) const {
  double lines = 1;
  SmallVector<Term> seen;
  for (const TermList &all : c.letters)
    for (Term kept : all)
      if (!isSummed(kept) && !isPlace(kept) &&
          !llvm::is_contained(seen, kept) && placesMove({kept})) {
        seen.push_back(kept);
        lines *= double(kept->size);
      }
  return denseOperands.empty() && double(letter->size) <= lines;
}

/// Whether a place is out of range whatever the tensors are.
static bool isNowhere(Terms &terms, TermRange dims,
                      const Exception &exception) {
  return llvm::any_of(
      llvm::zip_equal(dims, exception.places), [&](const auto &pair) {
        const auto &[dim, place] = pair;
        return terms.isInRange(place, dim->size) == terms.boolean(false);
      });
}

/// Writes out the few elements of summed dimensions that kept places depend on.
void Contractor::unroll() {
  for (Term letter : denseSummed()) {
    if (!placesMove({letter}) ||
        (manyUnrolled.isReachedBy(letter->size) && !areChoices(letter)) ||
        form.exceptions.size() * letter->size > kMaxExceptions)
      continue;
    SmallVector<Exception, 2> all;
    // In the order of the exceptions within each element.
    for (int64_t i = 0; i < letter->size; ++i) {
      Form here = substitute(terms, form, {{letter, terms.integer(i)}});
      for (Exception &exception : here.exceptions) {
        if (isNowhere(terms, form.dims, exception))
          continue;
        exception.places.push_back(terms.integer(i));
        all.push_back(exception);
      }
    }
    // From here on the letter is one with a place, a number.
    form.exceptions = std::move(all);
    form.dims.push_back(letter);
  }
}

Contractor::Addend Contractor::takeOut(const Exception &exception) {
  Addend addend;
  addend.isThere = terms.boolean(true);
  for (auto [dim, place] : llvm::zip_equal(form.dims, exception.places)) {
    if (isSummed(dim))
      addend.isThere =
          terms.conjunction(addend.isThere, terms.isInRange(place, dim->size));
    else
      addend.places.push_back(place);
  }
  addend.factors = factorsAt(exception);
  return addend;
}

SmallVector<Contractor::Addend> Contractor::takeAllOut() {
  return llvm::map_to_vector(form.exceptions, [&](const Exception &exception) {
    return takeOut(exception);
  });
}

/// Many choices that differ by their number alone become one, over the index
/// that is returned: the program does not grow with them. Few are better taken
/// one by one, as nobody then makes an array of all their rows.
TermList Contractor::stack(SmallVectorImpl<Addend> &addends) {
  if (addends.size() <= kMaxApart)
    return {};
  Term index = terms.freshIndex(int64_t(addends.size()));
  auto stackOf = [&](auto part) {
    return sparse::stack(terms, llvm::map_to_vector<8>(addends, part), index);
  };
  Addend all = addends.front();
  bool isOne = true;
  for (auto [i, place] : llvm::enumerate(all.places))
    isOne &= bool(place = stackOf([&](auto &a) { return a.places[i]; }));
  isOne &= bool(all.isThere = stackOf([](auto &a) { return a.isThere; }));
  for (auto [i, factor] : llvm::enumerate(all.factors)) {
    if (llvm::any_of(addends, [&](const Addend &addend) {
          return addend.factors.size() != all.factors.size();
        }))
      return {};
    isOne &= bool(factor = stackOf([&](auto &a) { return a.factors[i]; }));
  }
  // Equal ones are counted one by one.
  auto isTold = [&](Term term) { return term->dependsOn(index); };
  if (!isOne || !(isTold(all.isThere) || llvm::any_of(all.places, isTold) ||
                  llvm::any_of(all.factors, isTold)))
    return {};
  addends.assign({std::move(all)});
  return {index};
}

/// Makes the addend zero where the exception is not there, if that depends on
/// what is summed; else false. What is read for such a place is nobody's and
/// may be NaN, in each factor.
bool Contractor::hideInside(Addend &addend, TermRange over) {
  auto isSummedOver = [&](Term term) {
    return llvm::any_of(over,
                        [&](Term letter) { return term->dependsOn(letter); });
  };
  if (!isSummedOver(addend.isThere))
    return false;
  auto hide = [&](Term &factor) {
    factor = terms.select(addend.isThere, factor, terms.zero(factor->type));
  };
  bool isHidden = false;
  for (Term &factor : addend.factors)
    if (!factor->isNumber() && isSummedOver(factor))
      hide(factor), isHidden = true;
  if (!isHidden)
    hide(addend.factors.back());
  return true;
}

/// No place is left: a sum of rows.
void Contractor::addUp() {
  Term total = nullptr, none = terms.zero(type);
  Type wide = getAccumulator(ReduceKind::Sum, type);
  TermList over = denseSummed();
  SmallVector<Addend> addends = takeAllOut();
  llvm::append_range(over, stack(addends));
  for (Addend &addend : addends) {
    bool isInside = hideInside(addend, over);
    Term sum = terms.sum(over, addend.factors, wide);
    if (!isInside)
      sum = terms.select(addend.isThere, sum, terms.zero(wide));
    total = total ? terms.plus(total, sum) : sum;
  }
  forms.addRewrite(c.result,
                   {total ? terms.convert(total, type) : none, std::nullopt});
}

Outcome Contractor::makeForm() {
  Form result;
  result.dims = keptDims();
  result.background = cast<TypedAttr>(terms.zero(type)->number);
  TermList over = denseSummed();
  for (const Exception &exception : form.exceptions) {
    Addend addend = takeOut(exception);
    Exception kept{addend.places, nullptr};
    if (!hideInside(addend, over))
      restrictTo(terms, kept, addend.isThere);
    kept.value = terms.sum(over, addend.factors, type);
    for (const Exception &other : result.exceptions)
      result.isDistinct &= llvm::any_of(
          llvm::zip_equal(kept.places, other.places), [&](auto pair) {
            return terms.areNeverEqual(std::get<0>(pair), std::get<1>(pair));
          });
    result.exceptions.push_back(std::move(kept));
  }
  // Without sums nothing comes to meet that did not before.
  if (c.summed.empty())
    result.isDistinct = form.isDistinct;
  return result;
}

Outcome Contractor::makeRows() {
  Form rows;
  rows.dims = keptDims();
  rows.background = terms.zero(type)->number;
  SmallVector<Addend> addends = takeAllOut();
  stack(addends);
  for (Addend &addend : addends) {
    Exception row{addend.places, nullptr};
    restrictTo(terms, row, addend.isThere);
    TermList over;
    for (Term letter : denseSummed())
      if (!placesMove({letter}) && !addend.isThere->dependsOn(letter))
        over.push_back(letter);
    Type wide = addends.size() > 1 || addend.factors.size() > 1
                    ? getAccumulator(ReduceKind::Sum, type)
                    : type;
    row.value = terms.sum(over, addend.factors, wide);
    rows.exceptions.push_back(std::move(row));
  }
  forms.addRewrite(c.result, {nullptr, std::move(rows)});
  return {};
}

Outcome Contractor::run() {
  if (!multiplyForms()) {
    noteLoss();
    return {};
  }
  double dense = cost(false), sparse = cost(true);
  unroll();
  bool isScattered = placesMove(denseSummed());
  bool hasForm = !keptDims().empty() && !isScattered;
  std::string loss =
      movesElements(isScattered) ? findLoss(dense, sparse) : std::string();
  if (!loss.empty()) {
    forms.note(c.result, {false, loss});
    // Kept for those who read it at places, by which it may pay: a mask, and
    // the sum that an element is.
    bool isSum = keptDims().empty() && dense >= sparse;
    if (!isSum && !(hasForm && isMask()))
      return loss;
    forms.keepForReaders(c.result);
  } else if (!c.summed.empty()) {
    // A product without a sum is a mask of masks.
    noteForm(dense, sparse, isScattered);
  }
  forms.addMoves(c.result, findMoves(sparse, isScattered));
  if (keptDims().empty()) {
    addUp();
    return loss;
  }
  return isScattered ? makeRows() : makeForm();
}

Outcome Forms::contract(const Contraction &contraction) {
  contractions.insert(contraction.result);
  return Contractor(contraction, *this).run();
}
