// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_TRANSFORMS_AUTODIFF_PASSES_TD
#define SHOAL_TRANSFORMS_AUTODIFF_PASSES_TD

include "mlir/Pass/PassBase.td"

def Differentiate : Pass<"shoal-differentiate", "::mlir::ModuleOp"> {
  let summary = "Writes the bodies of derivatives";
  let description = [{
    Reverse-mode differentiation of whole programs, before anything knows of
    devices. A derivative is a function without a body that says by the
    attribute `shoal.derivative` what it is: `of` a function, with respect to
    its arguments `wrt`, of its results `outputs`, and by `mode` what it takes
    and returns:

    * `value-and-grad`: takes the function's arguments, returns its results and
      then a gradient for each of `wrt`, of the sum of the outputs, which are
      scalars;
    * `grad`: the gradients alone;
    * `vjp`: takes a cotangent for each of the outputs as well, behind the
      arguments, and returns the results and the cotangents of `wrt`.

    The pass gives it the function's body, with all calls inlined, and behind
    it the backward pass: from the last op to the first each adds to its
    operands' cotangents by its rule (`DifferentiableOpInterface`). What rules
    read of the forward pass are ordinary uses. Derivatives may call
    derivatives: second order is the derivative of a derivative.

    Where a function is called and behind it, on the same arguments, a derivative of it that
    returns its results as well, that alone is left: what makes the
    results in the first call's place, the rest in its own. A loop then runs once, which keeps
    rows for the backward one.

    A function may bring a derivative of its own: by `shoal.vjp_forward` it names
    a function that returns its results and then residuals, by
    `shoal.vjp_backward` one that makes the cotangents of its arguments of floats
    of the residuals and of the cotangents of its results of floats.

    With `function` a derivative of it is declared first, called `name`; its
    gradients lie as the arguments do and are called `grad.` and the argument's
    name.

    ```mlir
    func.func @loss(%w: tensor<4x3xf32>, %x: tensor<5x4xf32>) -> tensor<f32> {
      %h = shoal.einsum "BM,MH->BH" %x, %w : (tensor<5x4xf32>, tensor<4x3xf32>) -> tensor<5x3xf32>
      %l = shoal.reduce sum %h dims = [0, 1] : tensor<5x3xf32> -> tensor<f32>
      return %l : tensor<f32>
    }
    func.func private @loss_grad(tensor<4x3xf32>, tensor<5x4xf32>) -> (tensor<f32>, tensor<4x3xf32>)
      attributes {shoal.derivative = {of = @loss, wrt = array<i64: 0>, outputs = array<i64: 0>, mode = "value-and-grad"}}
    ```
    becomes
    ```mlir
    func.func @loss(%w: tensor<4x3xf32>, %x: tensor<5x4xf32>) -> tensor<f32> {
      %h = shoal.einsum "BM,MH->BH" %x, %w : (tensor<5x4xf32>, tensor<4x3xf32>) -> tensor<5x3xf32>
      %l = shoal.reduce sum %h dims = [0, 1] : tensor<5x3xf32> -> tensor<f32>
      return %l : tensor<f32>
    }
    func.func private @loss_grad(%w: tensor<4x3xf32>, %x: tensor<5x4xf32>) -> (tensor<f32>, tensor<4x3xf32>) {
      %h = shoal.einsum "BM,MH->BH" %x, %w : (tensor<5x4xf32>, tensor<4x3xf32>) -> tensor<5x3xf32>
      %l = shoal.reduce sum %h dims = [0, 1] : tensor<5x3xf32> -> tensor<f32>
      %one = arith.constant dense<1.0> : tensor<f32>
      %g = shoal.broadcast_in_dim %one dims = [] : tensor<f32> -> tensor<5x3xf32>
      %gw = shoal.einsum "BH,BM->MH" %g, %x : (tensor<5x3xf32>, tensor<5x4xf32>) -> tensor<4x3xf32>
      return %l, %gw : tensor<f32>, tensor<4x3xf32>
    }
    ```
  }];
  let options = [
    Option<"function", "function", "std::string", /*default=*/"",
           "The function to declare a derivative of">,
    ListOption<"wrt", "wrt", "int64_t",
               "Its arguments to differentiate by; all of floats by default">,
    ListOption<"outputs", "outputs", "int64_t",
               "Its results to differentiate; the first one by default">,
    Option<"mode", "mode", "std::string", /*default=*/"\"value-and-grad\"",
           "value-and-grad, grad or vjp">,
    Option<"name", "name", "std::string", /*default=*/"",
           "The derivative's name; that of the function with _grad or _vjp by default">
  ];
  let dependentDialects = [
    "::shoal::ShoalDialect", "::shoal::spmd::SpmdDialect",
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"
  ];
}

def PrintDerivativeRules : Pass<"shoal-print-derivative-rules", "::mlir::ModuleOp"> {
  let summary = "Prints what the gradient of each op is";
  let description = [{
    A page with a table of all ops of programs to the standard error stream: has
    the op a rule, is it written out as ops that have, or why is there none.
    docs/internals/DerivativeRules.md is this page. Changes nothing.

    ```mlir
    func.func @f() {
      return
    }
    ```
    prints
    ```text
    ...
    | `arith.addf` | rule |
    ...
    | `shoal.argmax` | none: it is a place |
    ...
    | `shoal.gelu` | written out first |
    ...
    | `shoal.reshard` | an error: is of a program that has been assigned to devices: gradients come before |
    ...
    | `shoal.while` | rule, of loops of a known number of steps |
    ...
    ```
  }];
  let dependentDialects = [
    "::shoal::ShoalDialect", "::shoal::spmd::SpmdDialect",
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"
  ];
}

#endif // SHOAL_TRANSFORMS_AUTODIFF_PASSES_TD
