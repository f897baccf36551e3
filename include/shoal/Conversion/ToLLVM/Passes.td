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
    their places in the meshes, which are gone behind this pass. The address of a
    function's argument is a cast, which `--shoal-take-addresses` resolves.

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

def TakeAddresses : Pass<"shoal-take-addresses", "::mlir::ModuleOp"> {
  let summary = "Make functions take addresses instead of memrefs";
  let description = [{
    MLIR's lowering makes a descriptor of each memref, a struct of two addresses,
    an offset, sizes and strides, with an op for each. A program that calls
    functions is made of little else then, of which calls want one word. Here an
    argument whose type says all of that becomes an address, and a call gets it
    from the argument or allocation that a view is a part of. What else uses an
    argument finds a descriptor of it at the function's begin; views that
    nothing else uses are gone.

    ```mlir
    func.func private @kernel(%x: memref<4xf32>) {
      return
    }
    func.func @f(%arena: memref<64xi8>) {
      %begin = arith.constant 32 : index
      %x = memref.view %arena[%begin][] : memref<64xi8> to memref<4xf32>
      call @kernel(%x) : (memref<4xf32>) -> ()
      return
    }
    ```
    becomes
    ```mlir
    func.func private @kernel(%x: !llvm.ptr) {
      return
    }
    func.func @f(%arena: !llvm.ptr) {
      %0 = llvm.getelementptr %arena[32] : (!llvm.ptr) -> !llvm.ptr, i8
      call @kernel(%0) : (!llvm.ptr) -> ()
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::arith::ArithDialect"];
}

def ShareTiles : Pass<"shoal-share-tiles", "::mlir::ModuleOp"> {
  let summary = "Have the runtime share ranges of tiles among threads";
  let description = [{
    Assumes what `--shoal-outline-tiles` leaves, in LLVM's dialect. A call of a
    function of a range of tiles, on all of them, becomes a call of the runtime,
    which calls the function with parts of the range, on as many threads as it
    finds worth the cost of a tile. What the function takes behind its range
    goes through an array, which its entry reads.

    ```mlir
    llvm.func @kernel(%x: !llvm.ptr) {
      %0 = llvm.mlir.constant(0 : i64) : i64
      %1 = llvm.mlir.constant(64 : i64) : i64
      llvm.call @kernel_tiles(%0, %1, %x) : (i64, i64, !llvm.ptr) -> ()
      llvm.return
    }
    llvm.func private @kernel_tiles(%begin: i64, %end: i64, %x: !llvm.ptr) attributes {shoal.tile_bytes = 32768 : i64} {
      llvm.return
    }
    ```
    becomes
    ```mlir
    llvm.func @shoal_rt_parallel_for(i64, i64, !llvm.ptr, !llvm.ptr)
    llvm.func @kernel(%arg0: !llvm.ptr) {
      %0 = llvm.mlir.constant(1 : i64) : i64
      %1 = llvm.alloca %0 x i64 : (i64) -> !llvm.ptr
      ...
      llvm.store %arg0, %4 : !llvm.ptr, !llvm.ptr
      %5 = llvm.mlir.constant(32768 : i64) : i64
      %6 = llvm.mlir.addressof @kernel_tiles_entry : !llvm.ptr
      llvm.call @shoal_rt_parallel_for(%3, %5, %6, %1) : (i64, i64, !llvm.ptr, !llvm.ptr) -> ()
    ...
    llvm.func private @kernel_tiles_entry(%arg0: i64, %arg1: i64, %arg2: !llvm.ptr) {
    ...
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
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
