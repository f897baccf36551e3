// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Sums of products over forms: L9 and L10.

#include "Forms.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Dialect/Shoal/IR/Algebra.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

namespace {

/// As many elements of a summed dimension are written out one by one, where
/// places depend on it: the choices of a token.
constexpr int64_t kMaxUnrolled = 16;

class Contractor {
public:
  Contractor(const Contraction &c, Forms &forms)
      : c(c), forms(forms), terms(forms.terms),
        type(tensorType(c.result).getElementType()) {}

  Outcome run();

private:
  std::optional<Form> operandForm(unsigned i);
  bool multiplyForms();
  TermList factorsAt(const Exception &exception);
  void unroll();
  double cost(bool isSparse) const;
  void noteLoss();
  void noteForm(double dense, double sparse, bool isScattered);
  bool hasLongRuns() const;
  bool readsOnce(double dense) const;
  bool isSummed(Term letter) const {
    return llvm::is_contained(c.summed, letter);
  }
  bool isPlace(Term letter) const {
    return llvm::is_contained(form.dims, letter);
  }
  /// Summed letters without places.
  TermList denseSummed() const {
    return llvm::to_vector<4>(llvm::make_filter_range(
        c.summed, [&](Term letter) { return !isPlace(letter); }));
  }

  /// An exception of the product, without the dimensions that are summed.
  struct Addend {
    TermList places;
    Term isThere;
    TermList factors;
  };
  Addend takeOut(const Exception &exception);
  Outcome addUp();
  Outcome makeForm();
  Outcome makeRows();
  bool placesMove(TermRange letters) const;
  TermList keptDims() const {
    return llvm::to_vector<4>(llvm::make_filter_range(
        form.dims, [&](Term letter) { return !isSummed(letter); }));
  }

  const Contraction &c;
  Forms &forms;
  Terms &terms;
  Type type;
  /// The product of the operands that have one, over letters.
  Form form;
  SmallVector<unsigned, 2> denseOperands;
};

} // namespace

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
  TermList factors = {exception.value};
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

/// Writes out the few elements of summed dimensions that kept places depend on.
void Contractor::unroll() {
  for (Term letter : denseSummed()) {
    if (letter->size > kMaxUnrolled || !placesMove({letter}) ||
        form.exceptions.size() * letter->size > kMaxExceptions)
      continue;
    SmallVector<Exception, 2> all;
    // In the order of the exceptions within each element.
    for (int64_t i = 0; i < letter->size; ++i) {
      Form here = substitute(terms, form, {{letter, terms.integer(i)}});
      for (auto [exception, before] :
           llvm::zip_equal(here.exceptions, form.exceptions)) {
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

/// No place is left: a sum of rows.
Outcome Contractor::addUp() {
  Term total = nullptr, none = terms.zero(type);
  Type wide = getAccumulator(ReduceKind::Sum, type);
  TermList over = denseSummed();
  for (const Exception &exception : form.exceptions) {
    Addend addend = takeOut(exception);
    bool isInside = llvm::any_of(
        over, [&](Term letter) { return addend.isThere->dependsOn(letter); });
    Term zero = terms.zero(wide);
    if (isInside) {
      Term &factor = addend.factors.back();
      factor = terms.select(addend.isThere, factor, terms.zero(factor->type));
    }
    Term sum = terms.sum(over, addend.factors, wide);
    // What is read for a place that is not there is nobody's, NaN or not.
    if (!isInside)
      sum = terms.select(addend.isThere, sum, zero);
    total = total ? terms.plus(total, sum) : sum;
  }
  forms.addRewrite(c.result,
                   {total ? terms.convert(total, type) : none, std::nullopt});
  return {};
}

Outcome Contractor::makeForm() {
  Form result;
  result.dims = keptDims();
  result.background = cast<TypedAttr>(terms.zero(type)->number);
  TermList over = denseSummed();
  for (const Exception &exception : form.exceptions) {
    Addend addend = takeOut(exception);
    bool isInside = llvm::any_of(
        over, [&](Term letter) { return addend.isThere->dependsOn(letter); });
    Exception kept{addend.places, nullptr};
    if (isInside) {
      Term &factor = addend.factors.back();
      factor = terms.select(addend.isThere, factor, terms.zero(factor->type));
    } else {
      restrictTo(terms, kept, addend.isThere);
    }
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
  for (const Exception &exception : form.exceptions) {
    Addend addend = takeOut(exception);
    Exception row{addend.places, nullptr};
    restrictTo(terms, row, addend.isThere);
    TermList over;
    for (Term letter : denseSummed())
      if (!placesMove({letter}) && !addend.isThere->dependsOn(letter))
        over.push_back(letter);
    Type wide = form.exceptions.size() > 1 || addend.factors.size() > 1
                    ? getAccumulator(ReduceKind::Sum, type)
                    : type;
    row.value = terms.sum(over, addend.factors, wide);
    rows.exceptions.push_back(std::move(row));
  }
  forms.addRewrite(c.result, {nullptr, std::move(rows)});
  return {};
}

/// Multiply-adds, or elements moved.
double Contractor::cost(bool isSparse) const {
  double product = isSparse ? double(form.exceptions.size()) : 1;
  SmallVector<Term> seen;
  for (const TermList &letters : c.letters)
    for (Term letter : letters) {
      if (llvm::is_contained(seen, letter) || (isSparse && isPlace(letter)))
        continue;
      seen.push_back(letter);
      product *= double(letter->size);
    }
  return product;
}

/// Whether what is read and written lies together in runs of a cache line.
bool Contractor::hasLongRuns() const {
  auto isLong = [&](Value tensor, Term last) {
    return !isPlace(last) &&
           last->size * tensorType(tensor).getElementTypeBitWidth() >= 64 * 8;
  };
  return llvm::all_of(denseOperands, [&](unsigned i) {
    return c.letters[i].empty() || isLong(c.operands[i], c.letters[i].back());
  });
}

/// Of the operand that lost its form.
void Contractor::noteLoss() {
  for (auto [i, operand] : llvm::enumerate(c.operands)) {
    std::string text;
    if (const Loss *loss = forms.lookupLoss(operand))
      text = llvm::formatv("{0} at {1}: {2}", loss->op->getName(),
                           sourcePlace(loss->op->getLoc()), loss->reason);
    else if (forms.lookup(operand))
      text = "its background is not zero, or it is read along a diagonal";
    else
      continue;
    forms.note(c.result,
               {false, llvm::formatv("operand {0} has no form: {1}", i, text)});
    return;
  }
}

void Contractor::noteForm(double dense, double sparse, bool isScattered) {
  std::string dims;
  for (Term dim : form.dims)
    dims += (dims.empty() ? "" : " x ") + std::to_string(dim->size);
  forms.note(c.result,
             {true, llvm::formatv(
                        "exceptions: {0}, in dimensions of {1}; {2} of {3:N} "
                        "elements for {4:N} multiply-adds",
                        form.exceptions.size(), dims,
                        isScattered ? "scatter" : "gather", int64_t(sparse),
                        int64_t(dense))});
}

/// Whether a dense operand has an element for each multiply-add: no library
/// makes that faster than memory is.
bool Contractor::readsOnce(double dense) const {
  return llvm::any_of(denseOperands, [&](unsigned i) {
    return double(tensorType(c.operands[i]).getNumElements()) == dense;
  });
}

Outcome Contractor::run() {
  if (!multiplyForms()) {
    noteLoss();
    return {};
  }
  double dense = cost(false), sparse = cost(true);
  unroll();
  // Masks alone are computed from their places, at no price, unless these are
  // many: then each is written by itself.
  bool isMoved = placesMove(denseSummed());
  if (!c.summed.empty() && (!denseOperands.empty() || isMoved)) {
    double needed = forms.getMinGain() * (readsOnce(dense) ? 0.125
                                          : hasLongRuns()  ? 1
                                                           : 10);
    if (dense < needed * sparse) {
      std::string reason =
          llvm::formatv("gain {0:F1} < {1:F1}", dense / sparse, needed);
      forms.note(c.result, {false, reason});
      return reason;
    }
  }
  // A product without a sum is a mask of masks.
  if (!c.summed.empty())
    noteForm(dense, sparse, isMoved);
  if (keptDims().empty())
    return addUp();
  return isMoved ? makeRows() : makeForm();
}

Outcome Forms::contract(const Contraction &contraction) {
  contractions.insert(contraction.result);
  return Contractor(contraction, *this).run();
}
