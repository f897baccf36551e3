// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A contraction of which an operand has a form, on its way to one or to rows.

#ifndef SHOAL_LIB_TRANSFORMS_SPARSE_CONTRACTOR_H
#define SHOAL_LIB_TRANSFORMS_SPARSE_CONTRACTOR_H

#include "Forms.h"
#include "Stack.h"
#include "llvm/ADT/STLExtras.h"

namespace shoal::sparse {

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
  bool areChoices(Term letter) const;
  void unroll();
  double cost(bool isSparse) const;
  void noteLoss();
  void noteForm(double dense, double sparse, bool isScattered);
  Moves findMoves(double elements, bool isScattered) const;
  bool isReadByPlace(Term letter) const;
  bool isMask() const;
  bool movesElements(bool isScattered) const;
  bool addProducts(double &dense, double &sparse) const;
  std::string findLoss(double dense, double sparse) const;
  double runLength() const;
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
  bool hideInside(Addend &addend, TermRange over);
  TermList stack(llvm::SmallVectorImpl<Addend> &addends);
  llvm::SmallVector<Addend> takeAllOut();
  void addUp();
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
  mlir::Type type;
  /// The product of the operands that have one, over letters.
  Form form;
  llvm::SmallVector<unsigned, 2> denseOperands;
};

} // namespace shoal::sparse

#endif // SHOAL_LIB_TRANSFORMS_SPARSE_CONTRACTOR_H
