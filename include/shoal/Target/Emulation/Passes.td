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
    `shoal_emulated_thread` (shoal/Target/Emulation/EmulatedKernel.h), from which it reads
    where its thread stands. Barriers, shuffles of i32 and shared memory become
    calls of the emulator. Modules of kernels go away.

    ```mlir
    gpu.module @shoal_kernels {
      gpu.func @fill(%x: memref<8xf32>) kernel {
        %i = gpu.thread_id x
        %zero = arith.constant 0.0 : f32
        memref.store %zero, %x[%i] : memref<8xf32>
        gpu.return
      }
    }
    ```
    becomes
    ```mlir
    func.func @fill(%x: memref<8xf32>, %thread: !llvm.ptr) attributes {shoal.kernel} {
      %0 = llvm.getelementptr %thread[0] : (!llvm.ptr) -> !llvm.ptr, i32
      %1 = llvm.load %0 : !llvm.ptr -> i32
      %i = arith.index_cast %1 : i32 to index
      %zero = arith.constant 0.0 : f32
      memref.store %zero, %x[%i] : memref<8xf32>
      return
    }
    ```
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

    ```mlir
    llvm.func @fill(%x: !llvm.ptr, %thread: !llvm.ptr) attributes {shoal.kernel} {
      llvm.return
    }
    ```
    becomes
    ```mlir
    llvm.func @fill(%thread: !llvm.ptr, %parameters: !llvm.ptr) {
      %0 = llvm.getelementptr %parameters[0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
      %1 = llvm.load %0 : !llvm.ptr -> !llvm.ptr
      %x = llvm.load %1 : !llvm.ptr -> !llvm.ptr
      llvm.call @fill.body(%x, %thread) : (!llvm.ptr, !llvm.ptr) -> ()
      llvm.return
    }
    llvm.func internal @fill.body(%x: !llvm.ptr, %thread: !llvm.ptr) {
      llvm.return
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // SHOAL_TARGET_EMULATION_PASSES_TD
