// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../Forms.h"
#include "Models.h"
#include "shoal/Dialect/Shoal/IR/ReductionOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

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

struct Reduce : ElementOpInterface::ExternalModel<Reduce, ReduceOp> {
  Term getElement(Operation *op, Terms &terms, unsigned,
                  TermRange index) const {
    auto reduce = cast<ReduceOp>(op);
    if (reduce.getKind() != ReduceKind::Sum)
      return nullptr;
    Contraction c = toContraction(reduce, terms, index);
    return terms.sum(c.summed, {terms.element(c.operands[0], c.letters[0])},
                     tensorType(c.result).getElementType());
  }

  Outcome getForm(Operation *op, Forms &forms) const {
    auto reduce = cast<ReduceOp>(op);
    if (reduce.getKind() != ReduceKind::Sum || !forms.lookup(reduce.getInput()))
      return {};
    return forms.contract(
        toContraction(reduce, forms.terms,
                      forms.terms.indicesOf(op->getResult(0))));
  }
};

} // namespace

void shoal::registerReductionElementModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    ReduceOp::attachInterface<Reduce>(*context);
  });
}
