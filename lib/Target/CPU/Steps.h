// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The steps of the CPU target, in their order.

#ifndef SHOAL_LIB_TARGET_CPU_STEPS_H
#define SHOAL_LIB_TARGET_CPU_STEPS_H

#include "shoal/Target/CPU/CPUTarget.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace shoal {

/// Adds `shoal_program_entry` and `shoal_program_metadata` to a module in
/// LLVM's dialect.
void addEntryPoint(mlir::ModuleOp module, const CPUProgram &program);

/// The host's CPU with all its features.
mlir::FailureOr<std::unique_ptr<llvm::TargetMachine>>
createHostMachine(mlir::Location loc);

/// Translates to LLVM IR for `machine`. All functions but the entry point are
/// internal and stay apart: kernels keep their names in profiles.
std::unique_ptr<llvm::Module> translateToLLVM(mlir::ModuleOp module,
                                              llvm::LLVMContext &context,
                                              llvm::TargetMachine &machine);

/// Runs LLVM's -O3.
void optimize(llvm::Module &module, llvm::TargetMachine &machine);

mlir::LogicalResult writeObject(llvm::Module &module,
                                llvm::TargetMachine &machine,
                                llvm::StringRef path, mlir::Location loc);

mlir::LogicalResult link(llvm::StringRef objectPath, llvm::StringRef outputPath,
                         const CPUOptions &options, mlir::Location loc);

} // namespace shoal

#endif // SHOAL_LIB_TARGET_CPU_STEPS_H
