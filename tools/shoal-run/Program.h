// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The program to run: found in a module, and brought to the form that runs.

#ifndef SHOAL_RUN_PROGRAM_H
#define SHOAL_RUN_PROGRAM_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "shoal/Reference/Signature.h"
#include "shoal/Transforms/Pipelines.h"

namespace shoal::run {

/// The function named, or the only public one, or @main. Prints an error where
/// there is no such function.
mlir::FailureOr<mlir::func::FuncOp> findEntry(mlir::ModuleOp module,
                                              llvm::StringRef name);

/// A program with its own copy of the module.
struct Program {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp entry;
  reference::Signature signature;

  /// The program as it is written, its composites decomposed.
  static mlir::FailureOr<Program> readGlobal(mlir::func::FuncOp entry);
  /// The program partitioned for `devices`, which must be those of its mesh;
  /// 0 stands for them.
  static mlir::FailureOr<Program> partition(mlir::func::FuncOp entry,
                                            int64_t devices,
                                            const PartitionOptions &options);
};

/// Runs the program on global inputs, one per argument. Returns what each
/// device holds of each result.
mlir::FailureOr<reference::GridValues>
execute(const Program &program, llvm::ArrayRef<reference::Tensor> inputs);

/// The results as a whole. Emits an error where devices that hold copies of
/// one element disagree.
mlir::FailureOr<reference::Tensors>
assemble(const Program &program, llvm::ArrayRef<reference::GridValue> shards);

} // namespace shoal::run

#endif // SHOAL_RUN_PROGRAM_H
