// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// From tensors to buffers, results in those that the caller gives.

#ifndef SHOAL_CONVERSION_BUFFERS_PASSES_TD
#define SHOAL_CONVERSION_BUFFERS_PASSES_TD

include "mlir/Pass/PassBase.td"

def PrepareBuffers : Pass<"shoal-prepare-buffers", "::mlir::func::FuncOp"> {
  let summary = "Give every result its own initial tensor";
  let description = [{
    One `tensor.empty` or `linalg.fill` that several ops write into would make
    bufferization copy it. Each of its uses gets its own, and constants that are
    one value everywhere become fills rather than arrays in the object file.
    A fill moves to its use, and what is computed of arguments alone to its first; an
    op that makes an eighth or less of what it reads moves to where that is there.
    None then holds memory for longer than it must. What only moves rows of an argument that lie side
    by side, from a multiple of 64 bytes on, is a slice of it, which takes no memory: a
    layer's weights of all layers'. Barriers go: what is computed
    again behind them gets buffers of its own from here on.
    An op that reads a value element by element and is its only reader writes
    its result over it, as does the last reader of a donated argument for the
    result that goes there. Arguments are marked read-only, but for those that
    are donated: no op may write into an input.

    ```mlir
    func.func @f(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
      %0 = tensor.empty() : tensor<8xf32>
      %1 = linalg.exp ins(%x : tensor<8xf32>) outs(%0 : tensor<8xf32>) -> tensor<8xf32>
      %2 = linalg.abs ins(%x : tensor<8xf32>) outs(%0 : tensor<8xf32>) -> tensor<8xf32>
      return %1, %2 : tensor<8xf32>, tensor<8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<8xf32> {bufferization.writable = false}) -> (tensor<8xf32>, tensor<8xf32>) {
      %0 = tensor.empty() : tensor<8xf32>
      %1 = linalg.exp ins(%x : tensor<8xf32>) outs(%0 : tensor<8xf32>) -> tensor<8xf32>
      %2 = tensor.empty() : tensor<8xf32>
      %3 = linalg.abs ins(%x : tensor<8xf32>) outs(%2 : tensor<8xf32>) -> tensor<8xf32>
      return %1, %3 : tensor<8xf32>, tensor<8xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::bufferization::BufferizationDialect"];
}

def ResultsToOutParams : Pass<"shoal-results-to-out-params", "::mlir::func::FuncOp"> {
  let summary = "Make a function's results in buffers that the caller gives";
  let description = [{
    Each result becomes a new last argument, marked `shoal.result`. A buffer that
    the function allocates and returns, also in another shape, is replaced by that
    argument; anything else (an input, a constant, a buffer returned twice) is
    copied.

    A result with a donated argument in `shoal.donors` is left where it is if
    that is the argument, or is made there if nothing touches the argument any
    more when the result's buffer begins; its new argument is then not written,
    is not marked, and `shoal.donors` keeps the number. All others become -1.

    ```mlir
    func.func @f(%x: memref<8xf32>) -> memref<8xf32> {
      %0 = memref.alloc() : memref<8xf32>
      linalg.exp ins(%x : memref<8xf32>) outs(%0 : memref<8xf32>)
      return %0 : memref<8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: memref<8xf32>, %y: memref<8xf32> {shoal.result}) {
      linalg.exp ins(%x : memref<8xf32>) outs(%y : memref<8xf32>)
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def VerifyBuffers : Pass<"shoal-verify-buffers", "::mlir::ModuleOp"> {
  let summary = "Checks that only buffers are left";
  let description = [{
    Fails where one of these does not hold. Changes nothing.

    * (C1) No value is a tensor.
    * (C2) A function of one block returns nothing: results lie in buffers that
      the caller gives, or in donated arguments.
    * (C3) No op writes to a constant.

    ```mlir
    func.func @f(%x: memref<4xf32>) -> memref<4xf32> {
      return %x : memref<4xf32>
    }
    ```
    is an error:
    ```text
    f.mlir:1:1: error: 'func.func' op returns 1 values: expected its results in buffers
    ```
  }];
}

#endif // SHOAL_CONVERSION_BUFFERS_PASSES_TD
