// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Kernels of a GPU as functions of the host, for the emulated device of the
// tests.

#ifndef SHOAL_TARGET_EMULATION_PASSES_TD
#define SHOAL_TARGET_EMULATION_PASSES_TD

include "mlir/Pass/PassBase.td"

def KernelsToFunctions : Pass<"shoal-kernels-to-functions", "::mlir::ModuleOp"> {
  let summary = "Turn gpu.funcs into functions for the emulated device";
  let description = [{
    A kernel becomes a function of its parameters and of a pointer to a
    `shoal_emulated_thread` (shoal/Runtime/EmulatedKernel.h), from which it reads
    where its thread stands. Barriers, shuffles of i32 and shared memory become
    calls of the emulator. Modules of kernels go away.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect"
  ];
}

def ExportEmulatedKernels : Pass<"shoal-export-emulated-kernels", "::mlir::ModuleOp"> {
  let summary = "Export kernels as the emulated device calls them";
  let description = [{
    Assumes that functions of `--shoal-kernels-to-functions` have been lowered to
    LLVM's dialect. Each gets an exported function of its name, a
    `shoal_emulated_kernel`, which takes the parameters from an array.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // SHOAL_TARGET_EMULATION_PASSES_TD
