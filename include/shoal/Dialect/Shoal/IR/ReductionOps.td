// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_REDUCTION_OPS_TD
#define SHOAL_REDUCTION_OPS_TD

include "mlir/Interfaces/ControlFlowInterfaces.td"
include "shoal/Dialect/Shoal/IR/ShoalOpBase.td"

def Shoal_YieldOp : Shoal_Op<"yield", [Pure, ReturnLike, Terminator]> {
  let summary = "Ends a region with its results";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
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
