// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ops that combine the elements along dimensions.

#ifndef SHOAL_REDUCTION_OPS_TD
#define SHOAL_REDUCTION_OPS_TD

include "shoal/Dialect/Shoal/IR/ShoalOpBase.td"

def Shoal_ReduceOp : Shoal_Op<"reduce", [Pure]> {
  let summary = "Reduces dimensions away";
  let description = [{
    `and` and `or` are bitwise. Integers are signed to `max` and `min`, and
    wrap. NaN stays NaN. The reduction over no element is the combiner's
    identity (for max the smallest value of the type, -inf for floats).
    ```mlir
    %m = shoal.reduce max %x dims = [1] : tensor<8x16xf32> -> tensor<8xf32>
    ```
    Constraints:
    * (C1) `dims` are distinct dimensions of the operand, in ascending order;
    * (C2) the result has the operand's remaining dimensions and element type;
    * (C3) `and` and `or` take integers, the others all but i1.
  }];
  let arguments = (ins Shoal_ReduceKind:$kind, Shoal_Tensor:$input,
                       DenseI64ArrayAttr:$dims);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = "$kind $input `dims` `=` $dims attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Shoal_CumulativeOp : Shoal_Op<"cumulative", [Pure, SameOperandsAndResultType]> {
  let summary = "Running reduction along a dimension";
  let description = [{
    Element i combines the elements 0 … i of its line, or 0 … i - 1 with
    `exclusive` (the first is the combiner's identity); `reverse` runs from the
    other end.
    ```mlir
    %p = shoal.cumulative sum %mask dim = 1 {exclusive} : tensor<8x512x8xi32>
    ```
    Constraints:
    * (C1) `dim` is a dimension;
    * (C2) `and` and `or` take integers, the others all but i1.
  }];
  let arguments = (ins Shoal_ReduceKind:$kind, Shoal_Tensor:$input, I64Attr:$dim,
                       UnitAttr:$exclusive, UnitAttr:$reverse);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = "$kind $input `dim` `=` $dim attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Shoal_ReduceRegionOp : Shoal_Op<"reduce_region", [
    Pure, IsolatedFromAbove, SameVariadicOperandSize, SingleBlock]> {
  let summary = "Reduces several tensors at once by a combiner of scalars";
  let description = [{
    The combiner makes of n accumulated and n further scalars the n accumulated
    ones. StableHLO reduce. Elements are combined in any order and grouping, any
    number of inits among them: the combiner is to be associative and
    commutative, and the inits its identity. Each step computes in the types
    that the combiner names.

    Reductions that `reduce` lacks are written so: of pairs, or the maximum of
    unsigned integers by `arith.maxui`.
    ```mlir
    %m, %c = shoal.reduce_region(%x, %ones) inits(%lowest, %zero) dims = [1] {
    ^combine(%a: f32, %na: i32, %b: f32, %nb: i32):
      %largest = arith.maximumf %a, %b : f32
      %count = arith.addi %na, %nb : i32
      shoal.yield %largest, %count : f32, i32
    } : (tensor<8x16xf32>, tensor<8x16xi32>, tensor<f32>, tensor<i32>) -> (tensor<8xf32>, tensor<8xi32>)
    ```
    Constraints:
    * (C1) there is an operand, and all have one shape;
    * (C2) `dims` are distinct dimensions of the operands, in ascending order;
    * (C3) for each operand there is an init, a scalar tensor of its element type;
    * (C4) for each operand there is a result, of the operand's remaining
      dimensions and element type;
    * (C5) the combiner's arguments are two scalars for each operand, first all
      accumulated ones; it yields one for each;
    * (C6) the combiner consists of constants and of elementwise ops on scalars.

    Partitioning: where reduced dimensions are split each device reduces its
    part; then the partial results are combined, (p - 1) / p of them sent twice.
  }];
  let arguments = (ins Variadic<Shoal_Tensor>:$inputs, Variadic<Shoal_Tensor>:$inits,
                       DenseI64ArrayAttr:$dims);
  let results = (outs Variadic<Shoal_Tensor>:$results);
  let regions = (region SizedRegion<1>:$combiner);
  let assemblyFormat = [{
    `(` $inputs `)` `inits` `(` $inits `)` `dims` `=` $dims $combiner attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

#endif // SHOAL_REDUCTION_OPS_TD
