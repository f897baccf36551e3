// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Windows whose places an array of indices gives. Included by RtOps.td.

#ifndef RT_INDEXING_OPS_TD
#define RT_INDEXING_OPS_TD

include "shoal/Dialect/Rt/IR/RtBase.td"
include "shoal/Dialect/Shoal/IR/ShoalAttrs.td"

def Rt_WindowsAttr : Rt_Attr<"Windows", "windows"> {
  let summary = "Where windows of a tensor lie in it, and in a tensor of windows";
  let description = [{
    `<[8 by 1 at 0, 16 by 16 step 1] loop [3 : 1, 0, 16]>`: of an operand of
    8x16 elements each window has one row, whose number is element 0 of an
    index, and all 16 columns, which lie 1 apart in the windows' tensor. There
    are 3 windows; from one to the next it is 1 element in the indices, 0 in the
    operand and 16 in the windows' tensor.

    A dimension without `at` has windows that begin at 0, one without `step` is
    none of the windows' tensor.
  }];
  let parameters = (ins OptionalArrayRefParameter<"::shoal::rt::WindowDim">:$dims,
                        OptionalArrayRefParameter<"::shoal::rt::WindowLoop">:$loops);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// With the strides of a dense operand.
    ::shoal::calls::WindowLayout getLayout() const;
    /// How many windows there are.
    int64_t count() const;
  }];
}

def Rt_GatherOp : Rt_CallOp<"gather", "getOutputMutable()"> {
  let summary = "Reads windows of a tensor";
  let description = [{
    The output is the windows' tensor. Starts are clamped so that windows fit.
    ```mlir
    func.func @rows(%x: tensor<8x16xf32>, %i: tensor<3xi32>, %init: tensor<3x16xf32>)
        -> tensor<3x16xf32> {
      %y = rt.gather <[8 by 1 at 0, 16 by 16 step 1] loop [3 : 1, 0, 16]>
           ins(%x, %i : tensor<8x16xf32>, tensor<3xi32>) outs(%init : tensor<3x16xf32>)
           -> tensor<3x16xf32>
      return %y : tensor<3x16xf32>
    }
    ```
    Constraints:
    * (C1) the windows are of the operand: its sizes, each no less than the
      window's; their places are in an index;
    * (C2) all windows together have the elements of the windows' tensor;
    * (C3) the windows have the operand's element type, indices are integers but
      not i1;
    * (C4) all windows, wherever they begin, lie in the windows' tensor and in
      the operand, and their indices in the indices.
  }];
  let arguments = (ins AnyShaped:$input, AnyShaped:$indices, AnyShaped:$output,
                       Rt_WindowsAttr:$windows);
  let assemblyFormat = [{
    $windows `ins` `(` $input `,` $indices `:` type($input) `,` type($indices) `)`
    `outs` `(` $output `:` type($output) `)` attr-dict (`->` type($results)^)?
  }];
  let declarations = "int64_t countIndexedRows() { return getWindows().count(); }";
}

def Rt_ScatterOp : Rt_CallOp<"scatter", "getOutputMutable()"> {
  let summary = "Overwrites windows of a tensor, or combines them with others";
  let description = [{
    Combines the elements of `updates`, the windows' tensor, into the output in
    their row-major order, by `kind`; without one they overwrite it. The rest of
    the output stays as it is. What lies outside of it is dropped, where `clamps`
    does not say that starts are clamped so that windows fit. With `unique` no two
    windows begin at the same place of it.
    ```mlir
    func.func @add_rows(%i: tensor<3xi32>, %u: tensor<3x16xf32>, %x: tensor<8x16xf32>)
        -> tensor<8x16xf32> {
      %y = rt.scatter <[8 by 1 at 0, 16 by 16 step 1] loop [3 : 1, 0, 16]> kind sum
           ins(%i, %u : tensor<3xi32>, tensor<3x16xf32>) outs(%x : tensor<8x16xf32>)
           -> tensor<8x16xf32>
      return %y : tensor<8x16xf32>
    }
    ```
    Constraints:
    * (C1) to (C4) of `rt.gather`, the output being the operand; windows that are
      not clamped may be longer than it;
    * (C5) `and` and `or` take integers, other kinds all but i1.
  }];
  let arguments = !con((ins AnyShaped:$indices, AnyShaped:$updates, AnyShaped:$output,
                            Rt_WindowsAttr:$windows, OptionalAttr<Shoal_ReduceKind>:$kind,
                            UnitAttr:$clamps, UnitAttr:$unique), Rt_Scratch);
  let assemblyFormat = !strconcat([{
    $windows (`kind` $kind^)? `ins` `(` $indices `,` $updates `:` type($indices) `,` type($updates) `)`
    `outs` `(` $output `:` type($output) `)` }],
    Rt_ScratchFormat, "attr-dict (`->` type($results)^)?");
  let declarations = !strconcat(Rt_ScratchDeclarations, [{
    bool readsOutputs() { return true; }
    int64_t countIndexedRows() { return getWindows().count(); }
  }]);
}

def Rt_RowsOp : Op<Rt_Dialect, "rows", [Pure, DeclareOpInterfaceMethods<ViewLikeOpInterface>]> {
  let summary = "A dense part of a buffer that begins where the run says";
  let description = [{
    The elements from number `first` on in the order of memory, in a shape of
    their own; a view, which nothing is copied for. Unlike a `memref.subview`
    with an offset that is not known its type is that of a whole buffer: who
    takes addresses takes one of it. `--shoal-place-rows` makes it, on CPUs
    alone, and nothing checks `first`, which its maker has clamped.
    ```mlir
    func.func @row(%x: memref<8x16xf32>, %first: index, %y: memref<16xf32>) {
      %row = rt.rows %x[%first] : memref<8x16xf32> to memref<16xf32>
      linalg.exp ins(%row : memref<16xf32>) outs(%y : memref<16xf32>)
      return
    }
    ```
    Constraints:
    * (C1) both are dense and of static shape, and have the same element type;
    * (C2) the rows have no more elements than the buffer.
  }];
  let arguments = (ins AnyMemRef:$buffer, Index:$first);
  let results = (outs AnyMemRef:$rows);
  let assemblyFormat = "$buffer `[` $first `]` attr-dict `:` type($buffer) `to` type($rows)";
  let hasVerifier = 1;
}

#endif // RT_INDEXING_OPS_TD
