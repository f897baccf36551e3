// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Elementwise ops that arith lacks.

#ifndef SHOAL_ELEMENTWISE_OPS_TD
#define SHOAL_ELEMENTWISE_OPS_TD

include "shoal/Dialect/Shoal/IR/ShoalOpBase.td"

def Shoal_ClampOp : Shoal_CompositeOp<"clamp", [AllTypesMatch<["input", "result"]>]> {
  let summary = "Brings every element between two bounds";
  let description = [{
    min(max(x, low), high), so that `high` wins where the bounds cross. Bounds
    are scalars or have the operand's shape. NaN stays NaN, also that of a bound.
    Integers are signed; for unsigned ones there are arith.maxui and minui.
    ```mlir
    %y = shoal.clamp %low, %x, %high : tensor<f32>, tensor<8x16xf32>, tensor<8x16xf32>
    ```
    Constraints:
    * (C1) each bound is a scalar or has the operand's shape;
    * (C2) one element type;
    * (C3) the result has the operand's type.
  }];
  let arguments = (ins Shoal_Tensor:$low, Shoal_Tensor:$input, Shoal_Tensor:$high);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = [{
    $low `,` $input `,` $high attr-dict `:` type($low) `,` type($input) `,` type($high)
  }];
}

def Shoal_BitcastConvertOp : Shoal_Op<"bitcast_convert", [Pure]> {
  let summary = "The same bits as elements of another type";
  let description = [{
    Between types of one width, element by element. To a type narrower by r the
    result has a minor dimension of size r more, which holds the bits of an
    element from its low end; to a wider one the operand's minor dimension of
    size r goes. StableHLO bitcast_convert.
    ```mlir
    %y = shoal.bitcast_convert %x : tensor<4xf32> -> tensor<4x2xbf16>
    ```
    Constraints:
    * (C1) neither type is i1;
    * (C2) with elements of one width the shapes are the same; else the side of
      the narrower elements has a minor dimension more, of the ratio's size.
  }];
  let arguments = (ins Shoal_Tensor:$input);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif // SHOAL_ELEMENTWISE_OPS_TD
