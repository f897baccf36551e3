// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// From ops of shoal and spmd on tensors to linalg and calls of the runtime.

#ifndef SHOAL_CONVERSION_SHOALTOLINALG_PASSES_TD
#define SHOAL_CONVERSION_SHOALTOLINALG_PASSES_TD

include "mlir/Pass/PassBase.td"

def ShoalToLinalg : Pass<"shoal-to-linalg", "::mlir::ModuleOp"> {
  let summary = "Lower a per-device program's shoal and spmd ops to linalg and runtime calls";
  let description = [{
    Einsums that contract become `rt.einsum`; products without a sum,
    row-wise dot products and sums over one operand become `linalg.generic`, as
    do reductions (sums of bf16 and f16 in f32) and whatever moves elements.
    Scans, top_k and all collectives become calls of `rt`. Elementwise `arith` and
    `math` on tensors stay as they are, for `--convert-elementwise-to-linalg`.

    The meshes and the arguments' `shoal.` attributes, which mean nothing on
    buffers, go away: whoever needs them reads them before.

    An op that belongs to a global program (an annotation, a composite, a
    reshard) is an error.

    ```mlir
    %y = shoal.cumulative sum %x dim = 1 : tensor<4x6xf32>
    ```
    becomes
    ```mlir
    %0 = tensor.empty() : tensor<4x6xf32>
    %y = rt.cumulative sum dim 1
           ins(%x : tensor<4x6xf32>) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect", "::shoal::rt::RtDialect"
  ];
}

def VerifyLinalg : Pass<"shoal-verify-linalg", "::mlir::ModuleOp"> {
  let summary = "Checks what --shoal-to-linalg and its phase leave";
  let description = [{
    Fails where one of these does not hold. Changes nothing.

    * (C1) No op of `shoal` or `spmd` is left but the meshes, which calls name,
      and barriers.
    * (C2) What is computed element by element on tensors is linalg.
    * (C3) Elements of tensors are of a type that the runtime has
      (shoal/Support/ElementType.h).

    ```mlir
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = arith.addf %x, %x : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    ```
    is an error:
    ```text
    f.mlir:2:8: error: 'arith.addf' op works on tensors: expected a linalg op
    ```
  }];
}

#endif // SHOAL_CONVERSION_SHOALTOLINALG_PASSES_TD
