// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_FOURIER_OPS_TD
#define SHOAL_FOURIER_OPS_TD

include "shoal/Dialect/Shoal/IR/ShoalOpBase.td"

def Shoal_FftOp : Shoal_Op<"fft", [Pure]> {
  let summary = "Discrete Fourier transforms along a dimension";
  let description = [{
    Of each line x of N elements along `dim` the N sums

        y[k] = x[0] w^0 + x[1] w^k + ... + x[N-1] w^((N-1) k),  w = exp(-2 pi i / N)

    or with `inverse` those with w = exp(2 pi i / N), divided by N. A complex
    line is two tensors, its real and its imaginary half; a real one is a single
    tensor. Of a real operand the first N / 2 + 1 sums are made, which say the
    others; for a real result as many are given, of which the imaginary parts of
    the first one and, where N is even, of the last one do not count. N is any
    number, at best a product of small factors.
    ```mlir
    %a, %b = shoal.fft %re, %im dim = 1 : (tensor<8x16xf32>, tensor<8x16xf32>)
           -> (tensor<8x16xf32>, tensor<8x16xf32>)
    %c, %d = shoal.fft %x dim = 1 : (tensor<8x16xf32>) -> (tensor<8x9xf32>, tensor<8x9xf32>)
    %y = shoal.fft %c, %d dim = 1 {inverse} : (tensor<8x9xf32>, tensor<8x9xf32>) -> tensor<8x16xf32>
    ```
    Constraints:
    * (C1) there are one or two operands and one or two results, not one of
      both; those of two have one shape;
    * (C2) the elements are all f32 or all f64;
    * (C3) `dim` is a dimension; its size N is at least 1 and, where operands
      and results are complex, the same for both; else N is the real line's and
      the complex one's N / 2 + 1. Other dimensions are equal;
    * (C4) `inverse` is there where the result is real, and not where the
      operand is.

    Partitioning: along the other dimensions each device transforms its lines. A
    line is transformed whole: where `dim` is split and another dimension can
    take the split, an all_to_all each way moves it; else the lines are
    gathered. Partial sums are transformed as such: the sums are linear in both
    halves.
  }];
  let arguments = (ins Variadic<Shoal_Tensor>:$inputs, I64Attr:$dim, UnitAttr:$inverse);
  let results = (outs Variadic<Shoal_Tensor>:$results);
  let assemblyFormat = "$inputs `dim` `=` $dim attr-dict `:` functional-type($inputs, $results)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// N, the size of a line that is not halved.
    int64_t getLength();
  }];
}

#endif // SHOAL_FOURIER_OPS_TD
