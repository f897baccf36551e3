// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Derivatives of random programs, and whether they are right.

#ifndef SHOAL_LIB_FUZZ_GRADIENTS_H
#define SHOAL_LIB_FUZZ_GRADIENTS_H

#include "shoal/Fuzz/Check.h"
#include "shoal/Reference/ReferenceInterface.h"

namespace shoal::fuzz {

/// The arguments and results of floats, between which a derivative is taken.
struct DerivativePlaces {
  llvm::SmallVector<int64_t> wrt, outputs;

  static DerivativePlaces of(mlir::func::FuncOp entry);
  bool empty() const { return wrt.empty() || outputs.empty(); }
};

/// Adds the pass that writes the vector-Jacobian product of @main.
void buildDerivative(mlir::OpPassManager &passes,
                     const DerivativePlaces &places);

/// Puts the derivative, once written, in the place of the program. Its
/// arguments are the program's and cotangents of the outputs, small whole
/// numbers; its results the program's and a gradient for each of `wrt`, of
/// which no error is known yet.
void enterDerivative(Program &program, const DerivativePlaces &places);

/// A copy of the module whose floats are all f64.
mlir::OwningOpRef<mlir::ModuleOp> widenFloats(mlir::ModuleOp module);

/// Compares the slope of `function`'s results along a random direction, as
/// `derivative` has it, with central differences at two steps, at a point of no
/// whole numbers; both in f64. `inputs` are the function's, of integers used as
/// they are. Nothing is said where the differences do not agree with each
/// other, as beside a jump. On failure `message` says why, or a diagnostic.
mlir::LogicalResult checkDifferences(mlir::func::FuncOp function,
                                     mlir::func::FuncOp derivative,
                                     const DerivativePlaces &places,
                                     llvm::ArrayRef<reference::Tensor> inputs,
                                     uint64_t seed, std::string &message);

/// The error of the results from `first` on, measured: a few times how far
/// they are off those of the same program in f64. Infinite where that is no
/// measure: nothing is known of such a result.
void measureErrors(llvm::ArrayRef<reference::Tensor> results,
                   llvm::ArrayRef<reference::Tensor> wide, size_t first,
                   llvm::MutableArrayRef<Bounds> ranges);

/// The same numbers, floats as f64.
llvm::SmallVector<reference::Tensor>
widen(llvm::ArrayRef<reference::Tensor> tensors);

} // namespace shoal::fuzz

#endif // SHOAL_LIB_FUZZ_GRADIENTS_H
