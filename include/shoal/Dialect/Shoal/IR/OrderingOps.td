// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_ORDERING_OPS_TD
#define SHOAL_ORDERING_OPS_TD

include "shoal/Dialect/Shoal/IR/ShoalOpBase.td"

def Shoal_SortOp : Shoal_Op<"sort", [Pure]> {
  let summary = "Sorts the lines along a dimension";
  let description = [{
    The first `num_keys` operands are the keys, compared one after the other;
    the operands behind them are carried along. Ascending, or with `descending`
    from the largest to the smallest in every key. Stable: elements whose keys
    are equal keep their order, in both directions.

    Floats are ordered as by jax.lax.sort and NumPy: -0.0 equals 0.0; NaNs,
    whatever their sign, equal each other and are larger than all numbers.
    Integers are signed; unsigned ones are sorted after their highest bit was
    flipped. On i1 false comes before true.
    ```mlir
    %v, %i = shoal.sort %x, %places dim = 1 {descending, num_keys = 1}
           : (tensor<8x16xf32>, tensor<8x16xi32>) -> (tensor<8x16xf32>, tensor<8x16xi32>)
    ```
    Constraints:
    * (C1) there is an operand, and all have one shape;
    * (C2) `dim` is a dimension;
    * (C3) 1 <= num_keys <= the number of operands;
    * (C4) there is a result of each operand's type.

    Partitioning: along the other dimensions each device sorts its lines. A line
    is sorted whole: where the sorted dimension is split and another dimension
    can take the split, an all_to_all each way moves it; else the lines are
    gathered.
  }];
  let arguments = (ins Variadic<Shoal_Tensor>:$inputs, I64Attr:$dim,
                       DefaultValuedAttr<I64Attr, "1">:$num_keys, UnitAttr:$descending);
  let results = (outs Variadic<Shoal_Tensor>:$results);
  let assemblyFormat = "$inputs `dim` `=` $dim attr-dict `:` functional-type($inputs, $results)";
  let hasVerifier = 1;
}

def Shoal_TopKOp : Shoal_Op<"top_k", [Pure]> {
  let summary = "The k largest elements of the last dimension, with their places";
  let description = [{
    Values in descending order; equal values in ascending order of place; NaN
    counts as larger than all.
    ```mlir
    %v, %i = shoal.top_k %x {k = 2} : tensor<8x16xf32> -> tensor<8x2xf32>, tensor<8x2xi32>
    ```
    Constraints:
    * (C1) 1 <= k <= the last dimension's size;
    * (C2) both results have the operand's shape with k last; the values its
      element type, the places i32;
    * (C3) the elements are not i1.
  }];
  let arguments = (ins Shoal_Tensor:$input, I64Attr:$k);
  let results = (outs Shoal_Tensor:$values, Shoal_Tensor:$indices);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($values) `,` type($indices)";
  let hasVerifier = 1;
}

class Shoal_ArgOp<string mnemonic, string extreme>
    : Shoal_CompositeOp<mnemonic> {
  let summary = "The place of the " # extreme # " element along a dimension";
  let arguments = (ins Shoal_Tensor:$input, I64Attr:$dim);
  let results = (outs Shoal_IntTensor:$result);
  let assemblyFormat = "$input `dim` `=` $dim attr-dict `:` type($input) `->` type($result)";
}

def Shoal_ArgMaxOp : Shoal_ArgOp<"argmax", "largest"> {
  let description = [{
    Among equal elements the first; a NaN counts as larger than all, as in
    NumPy and JAX. -0.0 equals 0.0. Integers are signed; on i1 true is larger.
    ```mlir
    %i = shoal.argmax %x dim = 1 : tensor<8x16xf32> -> tensor<8xi32>
    ```
    Constraints:
    * (C1) `dim` is a dimension;
    * (C2) the result has the operand's other dimensions, and elements i32 or
      i64;
    * (C3) the dimension has an element, and at most 2^31 - 1 for i32.

    Partitioning: a reduce_region of pairs (value, place). Where the dimension
    is split each device finds its own candidate first.
  }];
}

def Shoal_ArgMinOp : Shoal_ArgOp<"argmin", "smallest"> {
  let description = [{
    As `argmax`, for the smallest: among equal elements the first; a NaN counts
    as smaller than all, as in NumPy and JAX.
    ```mlir
    %i = shoal.argmin %x dim = 0 : tensor<8x16xf32> -> tensor<16xi64>
    ```
    Constraints: those of `argmax`.
  }];
}

#endif // SHOAL_ORDERING_OPS_TD
