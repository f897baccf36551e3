// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the files of models share. Each attaches the meaning of one family of
// ops, when the family's dialect is loaded.

#ifndef SHOAL_LIB_REFERENCE_MODELS_H
#define SHOAL_LIB_REFERENCE_MODELS_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/Operation.h"
#include "shoal/Reference/ReferenceInterface.h"

namespace shoal::reference {

#define SHOAL_FAMILY(name)                                                     \
  void register##name##Models(mlir::DialectRegistry &registry);
#include "Families.def"

/// The type of the op's result; the interpreter has checked that it is one.
inline TensorType resultType(mlir::Operation *op, unsigned index = 0) {
  return *TensorType::from(op->getResult(index).getType());
}

/// A model is a function of the op and its operands.
template <typename Op, auto evaluateFn>
struct Model : ReferenceOpInterface::ExternalModel<Model<Op, evaluateFn>, Op> {
  llvm::FailureOr<Tensors> evaluate(mlir::Operation *op,
                                    llvm::ArrayRef<Tensor> operands) const {
    return evaluateFn(llvm::cast<Op>(op), operands);
  }
};

/// Attaches `evaluateFn(Op, ArrayRef<Tensor>) -> FailureOr<Tensors>`.
template <typename Op, auto evaluateFn>
void attach(mlir::MLIRContext *context) {
  Op::template attachInterface<Model<Op, evaluateFn>>(*context);
}

} // namespace shoal::reference

#endif // SHOAL_LIB_REFERENCE_MODELS_H
