// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_ELEMENT_INTERFACES_TD
#define SHOAL_ELEMENT_INTERFACES_TD

include "mlir/IR/Interfaces.td"

def ElementOpInterface : OpInterface<"ElementOpInterface"> {
  let cppNamespace = "::shoal";
  let description = [{
    What an op knows of single elements: how one of the result's is made of the
    operands', and at which places a result is other than elsewhere. With it
    `--shoal-sparsify-einsums` finds tensors that are mostly zeros.

    Ops that are elementwise by their traits need no model: folders and
    `InferIntRangeInterface` tell all that is asked of them. An op with
    neither has elements that nothing is known of.
  }];
  let methods = [
    InterfaceMethod<[{
        Of a view, each element of which is one of the first operand's: the
        index of that element, by the result's. Empty where the op is no view.
      }],
      "::std::optional<::shoal::sparse::TermList>", "mapIndex",
      (ins "::shoal::sparse::Terms &":$terms,
           "::shoal::sparse::TermRange":$index), "", "return std::nullopt;">,
    InterfaceMethod<[{
        The element of a result at an index, made of elements of the operands;
        null where that cannot be said, and for views.
      }],
      "::shoal::sparse::Term", "getElement",
      (ins "::shoal::sparse::Terms &":$terms, "unsigned":$result,
           "::shoal::sparse::TermRange":$index), "", "return nullptr;">,
    InterfaceMethod<[{
        Where the first result is other than elsewhere, if that is more than
        what follows from its elements; by the forms of the operands.
      }],
      "::shoal::sparse::Outcome", "getForm",
      (ins "::shoal::sparse::Forms &":$forms), "",
      "return ::shoal::sparse::Outcome();">,
    InterfaceMethod<[{
        A simpler term for the op on scalars, some of which are a form's
        background, where this may be said of finite numbers alone: 0 * x = 0.
      }],
      "::shoal::sparse::Term", "foldBackground",
      (ins "::shoal::sparse::Terms &":$terms,
           "::shoal::sparse::TermRange":$operands), "", "return nullptr;">,
    InterfaceMethod<[{
        The value that operand `which` must have for the op on scalars to be
        `target`; null where there may be several.
      }],
      "::shoal::sparse::Term", "solve",
      (ins "::shoal::sparse::Terms &":$terms,
           "::shoal::sparse::TermRange":$operands, "unsigned":$which,
           "::shoal::sparse::Term":$target), "", "return nullptr;">,
    InterfaceMethod<[{
        The elements of the result are integers 0 ... limit - 1; 0 where that is
        not known.
      }],
      "int64_t", "getLimit", (ins "unsigned":$result), "", "return 0;">,
    InterfaceMethod<[{
        The dimension along which no two elements of the result are equal; -1
        where there is none.
      }],
      "int64_t", "getDistinctDim", (ins "unsigned":$result), "", "return -1;">
  ];
}

#endif // SHOAL_ELEMENT_INTERFACES_TD
