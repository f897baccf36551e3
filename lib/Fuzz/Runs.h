// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The ways to run a program, and whether their results agree.

#ifndef SHOAL_LIB_FUZZ_RUNS_H
#define SHOAL_LIB_FUZZ_RUNS_H

#include "shoal/Fuzz/Check.h"
#include "shoal/Reference/Signature.h"

namespace shoal::fuzz {

/// Small whole numbers within the arguments' ranges.
llvm::SmallVector<reference::Tensor>
makeInputs(const reference::Signature &signature, llvm::ArrayRef<Bounds> ranges,
           uint64_t seed);

/// The results of a global or per-device program in the interpreter.
mlir::FailureOr<reference::Tensors>
interpretProgram(mlir::func::FuncOp entry,
                 llvm::ArrayRef<reference::Tensor> inputs);

/// The results of a per-device program's executable under MPI. Lowers the
/// module in place; on failure `message` says why, where no diagnostic does.
/// Adds the sides of thresholds that the executable was on to `sides`.
mlir::FailureOr<reference::Tensors>
executeProgram(mlir::ModuleOp module, const reference::Signature &signature,
               llvm::ArrayRef<reference::Tensor> inputs,
               const CheckOptions &options, StageObserver observe,
               llvm::SmallVectorImpl<std::string> &sides, std::string &message);

/// Where and by how much results differ beyond their ranges' errors; those of
/// an infinite error may be anything.
std::optional<std::string> compareResults(llvm::ArrayRef<reference::Tensor> a,
                                          llvm::ArrayRef<reference::Tensor> b,
                                          llvm::ArrayRef<Bounds> ranges);

} // namespace shoal::fuzz

#endif // SHOAL_LIB_FUZZ_RUNS_H
