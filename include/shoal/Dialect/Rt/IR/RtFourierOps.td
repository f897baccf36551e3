// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Fourier transforms. Included by RtOps.td.

#ifndef RT_FOURIER_OPS_TD
#define RT_FOURIER_OPS_TD

include "shoal/Dialect/Rt/IR/RtBase.td"

def Rt_FftOp : Rt_CallOp<"fft", "getOutputsMutable()", [AttrSizedOperandSegments]> {
  let summary = "Transforms lines";
  let description = [{
    See `shoal.fft`: two inputs or outputs are the halves of complex lines, one
    is real.
    ```mlir
    func.func @spectrum(%x: tensor<4x6xf32>, %r: tensor<4x4xf32>, %i: tensor<4x4xf32>)
        -> (tensor<4x4xf32>, tensor<4x4xf32>) {
      %re, %im = rt.fft dim 1 ins(%x : tensor<4x6xf32>)
                 outs(%r, %i : tensor<4x4xf32>, tensor<4x4xf32>)
                 -> tensor<4x4xf32>, tensor<4x4xf32>
      return %re, %im : tensor<4x4xf32>, tensor<4x4xf32>
    }
    ```
    Constraints:
    * (C1) there are one or two inputs, of one type, and one or two outputs, of
      one type, not one of both; the elements are f32 or f64;
    * (C2) `dim` is a dimension of the inputs; the outputs have their sizes but
      for that of `dim`, which is N of one and N / 2 + 1 of the other where
      either are real.
  }];
  let arguments = !con((ins Variadic<AnyShaped>:$inputs, Variadic<AnyShaped>:$outputs,
                            I64Attr:$dim, UnitAttr:$inverse), Rt_Scratch);
  let assemblyFormat = !strconcat([{
    `dim` $dim `ins` `(` $inputs `:` type($inputs) `)`
    `outs` `(` $outputs `:` type($outputs) `)` }],
    Rt_ScratchFormat, "attr-dict (`->` type($results)^)?");
  let declarations = !strconcat(Rt_ScratchDeclarations, [{
    bool isVariadic() { return true; }
    ::llvm::StringRef whyNotOnDevice() { return "cuFFT is not linked"; }
    double countTerms();
  }]);
}

#endif // RT_FOURIER_OPS_TD
