// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Scans and selection along one dimension. Included by RtOps.td.

#ifndef RT_ORDERING_OPS_TD
#define RT_ORDERING_OPS_TD

include "shoal/Dialect/Rt/IR/RtBase.td"
include "shoal/Dialect/Shoal/IR/ShoalAttrs.td"

def Rt_CumulativeOp : Rt_CallOp<"cumulative", "getOutputMutable()"> {
  let summary = "The reductions of all beginnings of a dimension";
  let description = [{
    See `shoal.cumulative`.
    ```mlir
    func.func @scan(%x: tensor<4x6xf32>, %init: tensor<4x6xf32>) -> tensor<4x6xf32> {
      %y = rt.cumulative sum dim 1 ins(%x : tensor<4x6xf32>)
           outs(%init : tensor<4x6xf32>) {exclusive} -> tensor<4x6xf32>
      return %y : tensor<4x6xf32>
    }
    ```
    Constraints:
    * (C1) `dim` is a dimension of the input;
    * (C2) the output has the input's shape and element type;
    * (C3) `and` and `or` take integers, the others all but i1.
  }];
  let arguments = (ins AnyShaped:$input, AnyShaped:$output, Shoal_ReduceKind:$kind, I64Attr:$dim,
                       UnitAttr:$exclusive, UnitAttr:$reverse);
  let assemblyFormat = !strconcat("$kind `dim` $dim ", Rt_InputAndOutput);
}

def Rt_TopKOp : Rt_CallOp<"top_k", "::mlir::MutableOperandRange(getOperation(), 1, 2)"> {
  let summary = "The greatest elements of the last dimension";
  let description = [{
    See `shoal.top_k`; k is the last size of the outputs.
    ```mlir
    func.func @top_k(%x: tensor<4x6xf32>, %v: tensor<4x2xf32>, %i: tensor<4x2xi32>)
        -> (tensor<4x2xf32>, tensor<4x2xi32>) {
      %values, %indices = rt.top_k ins(%x : tensor<4x6xf32>)
                          outs(%v, %i : tensor<4x2xf32>, tensor<4x2xi32>)
                          -> tensor<4x2xf32>, tensor<4x2xi32>
      return %values, %indices : tensor<4x2xf32>, tensor<4x2xi32>
    }
    ```
    Constraints:
    * (C1) the input has a dimension; the outputs have its sizes but for the
      last, which is at most the input's, and one shape;
    * (C2) the values have the input's element type, the indices i32;
    * (C3) the elements are not i1.
  }];
  let arguments = !con((ins AnyShaped:$input, AnyShaped:$values, AnyShaped:$indices), Rt_Scratch);
  let assemblyFormat = !strconcat([{
    `ins` `(` $input `:` type($input) `)`
    `outs` `(` $values `,` $indices `:` type($values) `,` type($indices) `)` }],
    Rt_ScratchFormat, "attr-dict (`->` type($results)^)?");
  let declarations = Rt_ScratchDeclarations;
}

def Rt_SortOp : Rt_CallOp<"sort", "getOutputsMutable()", [AttrSizedOperandSegments]> {
  let summary = "Sorts lines by one or several keys";
  let description = [{
    See `shoal.sort`: the first `keys` operands are the keys.
    ```mlir
    func.func @sort(%x: tensor<4x6xf32>, %y: tensor<4x6xi32>)
        -> (tensor<4x6xf32>, tensor<4x6xi32>) {
      %a = tensor.empty() : tensor<4x6xf32>
      %b = tensor.empty() : tensor<4x6xi32>
      %sorted:2 = rt.sort keys 1 dim 0 ins(%x, %y : tensor<4x6xf32>, tensor<4x6xi32>)
                  outs(%a, %b : tensor<4x6xf32>, tensor<4x6xi32>)
                  -> tensor<4x6xf32>, tensor<4x6xi32>
      return %sorted#0, %sorted#1 : tensor<4x6xf32>, tensor<4x6xi32>
    }
    ```
    Constraints:
    * (C1) `dim` is a dimension; there are 1 to all operands as keys;
    * (C2) there is an output for each input; all have one shape; an output has its input's element type.
  }];
  let arguments = !con((ins Variadic<AnyShaped>:$inputs, Variadic<AnyShaped>:$outputs,
                            I64Attr:$keys, I64Attr:$dim, UnitAttr:$descending), Rt_Scratch);
  let assemblyFormat = !strconcat([{
    `keys` $keys `dim` $dim `ins` `(` $inputs `:` type($inputs) `)`
    `outs` `(` $outputs `:` type($outputs) `)` }],
    Rt_ScratchFormat, "attr-dict (`->` type($results)^)?");
  let declarations = !strconcat(Rt_ScratchDeclarations, [{
    bool isVariadic() { return true; }
    double countOperations();
  }]);
}

#endif // RT_ORDERING_OPS_TD
