// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// From loops and calls of the runtime to LLVM's dialect for the host.

#ifndef SHOAL_CONVERSION_TOLLVM_PASSES_TD
#define SHOAL_CONVERSION_TOLLVM_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerRuntimeCalls : Pass<"shoal-lower-runtime-calls", "::mlir::ModuleOp"> {
  let summary = "Lower calls on memrefs to calls of the runtime's C functions";
  let description = [{
    `rt.name` becomes `llvm.call @shoal_rt_name` with the address of a constant
    array, the call's descriptor, then the buffers' addresses. Attributes and
    types become the descriptor's numbers (docs/reference/RuntimeCalls.md): axes
    their places in the meshes, which are gone behind this pass.

    ```mlir
    func.func @f() {
      rt.wait 0
      return
    }
    ```
    becomes
    ```mlir
    llvm.func @shoal_rt_wait(!llvm.ptr)
    llvm.mlir.global internal constant @shoal_desc_0(dense<0> : tensor<1xi64>) {addr_space = 0 : i32} : !llvm.array<1 x i64>
    func.func @f() {
      %0 = llvm.mlir.addressof @shoal_desc_0 : !llvm.ptr
      llvm.call @shoal_rt_wait(%0) : (!llvm.ptr) -> ()
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::arith::ArithDialect"];
}

def StoreBF16AsI16 : Pass<"shoal-store-bf16-as-i16", "::mlir::ModuleOp"> {
  let summary = "Hold bf16 values in i16";
  let description = [{
    Assumes LLVM's dialect, in which no arithmetic on bf16 is left. A back end
    without bf16 would move even a plain `select` through f32 and call a
    support function that older compilers' libraries lack.

    ```mlir
    llvm.func @f(%x: !llvm.ptr) -> bf16 {
      %y = llvm.load %x : !llvm.ptr -> bf16
      llvm.return %y : bf16
    }
    ```
    becomes
    ```mlir
    llvm.func @f(%x: !llvm.ptr) -> i16 {
      %y = llvm.load %x : !llvm.ptr -> i16
      llvm.return %y : i16
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def VerifyLLVM : Pass<"shoal-verify-llvm", "::mlir::ModuleOp"> {
  let summary = "Checks that everything is in LLVM's dialect";
  let description = [{
    Fails where one of these does not hold. Changes nothing.

    * (C1) Every op is one of LLVM's dialect.
    * (C2) No value is a bf16.

    ```mlir
    func.func @f() {
      return
    }
    ```
    is an error:
    ```text
    f.mlir:2:3: error: 'func.return' op is left behind by the lowering to LLVM
    ```
  }];
}

#endif // SHOAL_CONVERSION_TOLLVM_PASSES_TD
