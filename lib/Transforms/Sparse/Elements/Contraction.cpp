// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../Forms.h"
#include "Models.h"
#include "shoal/Dialect/Shoal/IR/ContractionOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

// Models replace the interface's defaults.
// NOLINTBEGIN(bugprone-derived-method-shadowing-base-method)
namespace {

/// The letters as indices: those of the result by its dimensions, those that
/// are summed over occurring nowhere else.
Contraction toContraction(EinsumOp op, Terms &terms, TermRange index) {
  EinsumSpec spec = op.getTerms();
  llvm::SmallDenseMap<char, Term> letters;
  for (auto [letter, term] : llvm::zip_equal(spec.result, index))
    letters[letter] = term;
  Contraction result{op.getResult(), {}, {}, {}};
  for (auto [input, operand] : llvm::zip_equal(spec.inputs, op.getInputs())) {
    TermList own;
    for (auto [letter, size] :
         llvm::zip_equal(input, tensorType(operand).getShape())) {
      Term &term = letters[letter];
      if (!term)
        result.summed.push_back(term = terms.freshIndex(size));
      own.push_back(term);
    }
    result.operands.push_back(operand);
    result.letters.push_back(std::move(own));
  }
  return result;
}

struct Einsum : ElementOpInterface::ExternalModel<Einsum, EinsumOp> {
  Term getElement(Operation *op, Terms &terms, unsigned,
                  TermRange index) const {
    auto einsum = cast<EinsumOp>(op);
    Contraction c = toContraction(einsum, terms, index);
    TermList factors;
    for (auto [operand, letters] : llvm::zip_equal(c.operands, c.letters))
      factors.push_back(terms.element(operand, letters));
    return terms.sum(c.summed, factors, tensorType(c.result).getElementType());
  }

  Outcome getForm(Operation *op, Forms &forms) const {
    return forms.contract(
        toContraction(cast<EinsumOp>(op), forms.terms,
                      forms.terms.indicesOf(op->getResult(0))));
  }
};

} // namespace
// NOLINTEND(bugprone-derived-method-shadowing-base-method)

void shoal::registerContractionElementModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    EinsumOp::attachInterface<Einsum>(*context);
  });
}
