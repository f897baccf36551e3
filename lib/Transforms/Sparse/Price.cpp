// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a contraction costs, dense and sparse, and what is said of it.

#include "Contractor.h"
#include "shoal/CostModel/SourcePlace.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

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

/// Elements that lie together in all dense operands and in the result: those of
/// the last dimensions, as far as these have no place.
double Contractor::runLength() const {
  auto runOf = [&](TermRange letters) {
    double length = 1;
    for (Term letter : llvm::reverse(letters)) {
      if (isPlace(letter))
        break;
      length *= double(letter->size);
    }
    return length;
  };
  double shortest = runOf(terms.indicesOf(c.result));
  for (unsigned i : denseOperands)
    shortest = std::min(shortest, runOf(c.letters[i]));
  return shortest;
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

/// Whether the letter's places are those of rows, and not the numbers of what
/// was written out.
bool Contractor::isReadByPlace(Term letter) const {
  const Term *dim = llvm::find(form.dims, letter);
  if (dim == form.dims.end())
    return false;
  return llvm::any_of(form.exceptions, [&](const Exception &exception) {
    return !exception.places[dim - form.dims.begin()]->isNumber();
  });
}

/// Whether masks are multiplied by nothing but weights of theirs, that have no
/// letters of their own: the product is a mask, with one number for each
/// exception.
bool Contractor::isMask() const {
  auto isOfForms = [&](Term letter) {
    if (letter->size == 1)
      return true;
    for (auto [i, letters] : llvm::enumerate(c.letters))
      if (!llvm::is_contained(denseOperands, i) &&
          llvm::is_contained(letters, letter))
        return isPlace(letter) || !isSummed(letter);
    return false;
  };
  return llvm::all_of(denseOperands, [&](unsigned i) {
    return llvm::all_of(c.letters[i], isOfForms);
  });
}

/// Masks are computed from their places, at no price, where their weights are
/// read as they lie. Places that are many are rows, each written by itself.
bool Contractor::movesElements(bool isScattered) const {
  if (c.summed.empty())
    return false;
  return isScattered || !isMask() ||
         llvm::any_of(denseOperands, [&](unsigned i) {
           return llvm::any_of(c.letters[i], [&](Term letter) {
             return isReadByPlace(letter);
           });
         });
}

/// The sum of products that a tensor is, or is a view of, if nobody else reads
/// it; null of others.
static Term findProduct(Terms &terms, Value tensor) {
  while (tensor.hasOneUse()) {
    Term term = terms.definition(tensor);
    if (!term || !term->isElement())
      return term && term->kind == TermKind::Sum && term->operands.size() > 1
                 ? term
                 : nullptr;
    tensor = term->value;
  }
  return nullptr;
}

/// Adds what dense operands cost, whole and at places, that are products which
/// nobody else reads: nobody makes those if this is rewritten. False where none
/// is.
bool Contractor::addProducts(double &dense, double &sparse) const {
  bool isAny = false;
  for (unsigned i : denseOperands) {
    Term product = findProduct(terms, c.operands[i]);
    if (!product || !llvm::any_of(c.letters[i], [&](Term letter) {
          return isReadByPlace(letter);
        }))
      continue;
    TermList places;
    auto addAll = [&](TermRange letters) {
      for (Term letter : letters)
        if (!isPlace(letter) && !llvm::is_contained(places, letter))
          places.push_back(letter);
    };
    addAll(c.letters[i]);
    for (const Exception &exception : form.exceptions)
      for (auto [dim, place] : llvm::zip_equal(form.dims, exception.places))
        if (llvm::is_contained(c.letters[i], dim))
          addAll(place->free);
    double summed = sizeOf(product->bound);
    dense += sizeOf(product->free) * summed;
    sparse += double(form.exceptions.size()) * sizeOf(places) * summed;
    isAny = true;
  }
  return isAny;
}

/// Why the sum of products takes less as it is written; empty where it takes
/// more.
std::string Contractor::findLoss(double dense, double sparse) const {
  double needed = forms.getMinGain();
  if (readsOnce(dense))
    needed /= 8;
  else if (!hasLongRuns())
    needed *= 10;
  std::string loss;
  if (dense < needed * sparse)
    loss = llvm::formatv("gain {0:F1} < {1:F1}", dense / sparse, needed);
  // Rows of the products are what is read then.
  if (!loss.empty() && addProducts(dense, sparse) &&
      dense >= forms.getMinGain() * sparse)
    loss.clear();
  return loss;
}

/// Rows that are summed by place are read whether they are there or not; rows
/// that are added at places are dropped where these are another's.
Moves Contractor::findMoves(double elements, bool isScattered) const {
  Moves moves{elements, 0, {}};
  if (movesElements(isScattered))
    moves.rows = elements / runLength();
  for (auto [i, letters] : llvm::enumerate(c.letters))
    for (auto [dim, letter] : llvm::enumerate(letters))
      if (isPlace(letter) && isSummed(letter))
        moves.readByPlace.push_back({int(i), unsigned(dim)});
  return moves;
}
