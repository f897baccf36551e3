// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Where two tensors are equal, one of which counts the rows of a dimension: L1,
// L2.

#include "Forms.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

Outcome Forms::equality(Operation *op, bool isNegated) {
  Value result = op->getResult(0);
  TermList index = terms.indicesOf(result);
  SmallVector<Term, 2> sides = {terms.element(op->getOperand(0), index),
                                terms.element(op->getOperand(1), index)};
  Type truth = terms.boolean(true)->type;
  auto background = cast<TypedAttr>(IntegerAttr::get(truth, isNegated));
  Term value = terms.boolean(!isNegated);
  for (Term dim : llvm::reverse(index)) {
    for (unsigned which : {0u, 1u}) {
      Term own = sides[which], other = sides[1 - which];
      if (!own->isClosed || !own->dependsOn(dim) || other->dependsOn(dim))
        continue;
      // (L2) Places that are places of a form.
      if (const Form *form = lookup(op->getOperand(1 - which))) {
        Outcome apart = form->isDistinct ? Outcome(*form) : group(*form);
        if (!apart.form)
          return apart;
        Form &nested = *apart.form;
        Term at = terms.solve(own, dim, terms.number(nested.background));
        bool isOut =
            at && terms.isInRange(at, dim->size) == terms.boolean(false);
        if (isOut && !llvm::is_contained(nested.dims, dim)) {
          Form deeper;
          deeper.dims = nested.dims;
          auto position =
              llvm::find_if(deeper.dims,
                            [&](Term d) { return d->id > dim->id; }) -
              deeper.dims.begin();
          deeper.dims.insert(deeper.dims.begin() + position, dim);
          deeper.background = background;
          for (Exception &exception : nested.exceptions) {
            Term place = terms.solve(own, dim, exception.value);
            exception.places.insert(exception.places.begin() + position, place);
            deeper.exceptions.push_back(Exception{exception.places, value});
          }
          return deeper;
        }
      }
      // (L1)
      if (Term place = terms.solve(own, dim, other)) {
        Form form;
        form.dims = {dim};
        form.background = background;
        form.exceptions.push_back(Exception{{place}, value});
        return form;
      }
    }
  }
  return {};
}
