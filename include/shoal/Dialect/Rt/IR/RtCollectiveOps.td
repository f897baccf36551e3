// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Communication, and what depends on a device's place: the ops of `spmd` as
// calls. Included by RtOps.td.

#ifndef RT_COLLECTIVE_OPS_TD
#define RT_COLLECTIVE_OPS_TD

include "shoal/Dialect/Rt/IR/RtBase.td"
include "shoal/Dialect/Spmd/IR/SpmdAttrs.td"

class Rt_MeshCallOp<string mnemonic>
    : Rt_CallOp<mnemonic, "getOutputMutable()",
                [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let hasVerifier = 0;
}

defvar Rt_CollectiveDeclarations = [{
    std::optional<int64_t> getCollectiveNumber() {
      return ::shoal::rt::numberOf(getCollectiveAttr());
    }
}];

class Rt_CollectiveOp<string mnemonic> : Rt_MeshCallOp<mnemonic> {
  let declarations = Rt_CollectiveDeclarations;
}

/// One that packs what it sends, or unpacks what it gets.
class Rt_PackingCollectiveOp<string mnemonic> : Rt_MeshCallOp<mnemonic> {
  let declarations = !strconcat(Rt_CollectiveDeclarations, Rt_ScratchDeclarations);
}

def Rt_AxisIndexOp : Rt_MeshCallOp<"axis_index"> {
  let summary = "The device's index over a list of axes";
  let description = [{
    See `spmd.axis_index`.
    ```mlir
    %i = rt.axis_index @mesh {"x", "y"} outs(%init : tensor<i32>) -> tensor<i32>
    ```
    Constraints:
    * (C1) the output is a scalar of i32.
  }];
  let arguments = (ins AnyShaped:$output, FlatSymbolRefAttr:$mesh, Shoal_AxesAttr:$axes);
  let assemblyFormat = [{
    $mesh $axes `outs` `(` $output `:` type($output) `)` attr-dict (`->` type($results)^)?
  }];
}

def Rt_AllGatherOp : Rt_PackingCollectiveOp<"all_gather"> {
  let summary = "Every device gets the blocks of all devices of its group";
  let description = [{
    See `spmd.all_gather`.
    ```mlir
    func.func @gather(%x: tensor<2x6xf32>, %init: tensor<4x6xf32>) -> tensor<4x6xf32> {
      %y = rt.all_gather @mesh [{"x"}, {} ] ins(%x : tensor<2x6xf32>)
           outs(%init : tensor<4x6xf32>) {collective = 0 : i64} -> tensor<4x6xf32>
      return %y : tensor<4x6xf32>
    }
    ```
    Constraints:
    * (C1) `axes` has a list for each dimension;
    * (C2) the input's sizes are ceil(n / p), n the output's and p the product
      of the axes; one element type.
  }];
  let arguments = !con((ins AnyShaped:$input, AnyShaped:$output, FlatSymbolRefAttr:$mesh,
                       Spmd_AxesPerDim:$axes, OptionalAttr<I64Attr>:$collective), Rt_Scratch);
  let assemblyFormat = !strconcat("$mesh custom<AxesPerDim>($axes) ", Rt_InputOutputAndScratch);
}

def Rt_AllSliceOp : Rt_MeshCallOp<"all_slice"> {
  let summary = "Each device keeps its own block; nothing is sent";
  let description = [{
    See `spmd.all_slice`; rows past the end of the input are zero.
    ```mlir
    func.func @slice(%x: tensor<4x6xf32>, %init: tensor<2x6xf32>) -> tensor<2x6xf32> {
      %y = rt.all_slice @mesh [{"x"}, {} ] ins(%x : tensor<4x6xf32>)
           outs(%init : tensor<2x6xf32>) -> tensor<2x6xf32>
      return %y : tensor<2x6xf32>
    }
    ```
    Constraints:
    * (C1) `axes` has a list for each dimension;
    * (C2) the output's sizes are ceil(n / p), n the input's and p the product
      of the axes; one element type.
  }];
  let arguments = (ins AnyShaped:$input, AnyShaped:$output, FlatSymbolRefAttr:$mesh,
                       Spmd_AxesPerDim:$axes);
  let assemblyFormat = !strconcat("$mesh custom<AxesPerDim>($axes) ", Rt_InputAndOutput);
}

def Rt_AllReduceOp : Rt_PackingCollectiveOp<"all_reduce"> {
  let summary = "Every device gets the reduction over its group";
  let description = [{
    See `spmd.all_reduce`.
    ```mlir
    func.func @sum(%x: tensor<4x6xf32>, %init: tensor<4x6xf32>) -> tensor<4x6xf32> {
      %y = rt.all_reduce sum @mesh {"x"} ins(%x : tensor<4x6xf32>)
           outs(%init : tensor<4x6xf32>) {collective = 0 : i64} -> tensor<4x6xf32>
      return %y : tensor<4x6xf32>
    }
    ```
    Constraints:
    * (C1) the output has the input's shape and element type;
    * (C2) `and` and `or` take integers, the others all but i1.
  }];
  let arguments = !con((ins AnyShaped:$input, AnyShaped:$output, Shoal_ReduceKind:$kind,
                       FlatSymbolRefAttr:$mesh, Shoal_AxesAttr:$axes,
                       OptionalAttr<I64Attr>:$collective), Rt_Scratch);
  let assemblyFormat = !strconcat("$kind $mesh $axes ", Rt_InputOutputAndScratch);
}

def Rt_ReduceScatterOp : Rt_PackingCollectiveOp<"reduce_scatter"> {
  let summary = "Each device gets its own block of the reduction over its group";
  let description = [{
    See `spmd.reduce_scatter`.
    ```mlir
    func.func @scatter(%x: tensor<4x6xf32>, %init: tensor<2x6xf32>) -> tensor<2x6xf32> {
      %y = rt.reduce_scatter sum @mesh [{"x"}, {} ] ins(%x : tensor<4x6xf32>)
           outs(%init : tensor<2x6xf32>) {collective = 0 : i64} -> tensor<2x6xf32>
      return %y : tensor<2x6xf32>
    }
    ```
    Constraints:
    * (C1) `axes` has a list for each dimension;
    * (C2) the output's sizes are ceil(n / p), n the input's and p the product
      of the axes; one element type;
    * (C3) `and` and `or` take integers, the others all but i1.
  }];
  let arguments = !con((ins AnyShaped:$input, AnyShaped:$output, Shoal_ReduceKind:$kind,
                       FlatSymbolRefAttr:$mesh, Spmd_AxesPerDim:$axes,
                       OptionalAttr<I64Attr>:$collective), Rt_Scratch);
  let assemblyFormat = !strconcat("$kind $mesh custom<AxesPerDim>($axes) ", Rt_InputOutputAndScratch);
}

def Rt_AllToAllOp : Rt_PackingCollectiveOp<"all_to_all"> {
  let summary = "Axes leave some dimensions for others";
  let description = [{
    See `spmd.all_to_all`; what lies past the end of the input is zero.
    ```mlir
    func.func @swap(%x: tensor<1x4xf32>, %init: tensor<2x2xf32>) -> tensor<2x2xf32> {
      %y = rt.all_to_all @mesh [{"x"} : 0 -> 1] ins(%x : tensor<1x4xf32>)
           outs(%init : tensor<2x2xf32>) {collective = 0 : i64} -> tensor<2x2xf32>
      return %y : tensor<2x2xf32>
    }
    ```
    Constraints:
    * (C1) there is a move, and each is from one dimension to another;
    * (C2) the output has the input's rank and element type, and along each
      dimension a size that a shard of the same whole can have, where the axes
      that leave it split the input's and those that come split the output's;
    * (C3) axes leave a dimension or come to it, not both.
  }];
  let arguments = !con((ins AnyShaped:$input, AnyShaped:$output, FlatSymbolRefAttr:$mesh,
                       Spmd_Moves:$moves, OptionalAttr<I64Attr>:$collective), Rt_Scratch);
  let assemblyFormat = !strconcat("$mesh custom<Moves>($moves) ", Rt_InputOutputAndScratch);
}

def Rt_RaggedAllToAllOp : Rt_MeshCallOp<"ragged_all_to_all"> {
  let summary = "Each device sends as many rows as it likes to each";
  let description = [{
    See `spmd.ragged_all_to_all`; rows of the output that nobody sends stay as
    they are. The inputs are the rows, the offsets and sizes of what is sent, the
    offsets where it gets to, and the sizes of what comes.
    ```mlir
    func.func @send(%x: tensor<3x1xf32>, %from: tensor<2xi32>, %count: tensor<2xi32>,
                    %to: tensor<2xi32>, %come: tensor<2xi32>, %y: tensor<4x1xf32>)
        -> tensor<4x1xf32> {
      %z = rt.ragged_all_to_all @mesh {"x"}
           ins(%x, %from, %count, %to, %come : tensor<3x1xf32>, tensor<2xi32>, tensor<2xi32>,
               tensor<2xi32>, tensor<2xi32>)
           outs(%y : tensor<4x1xf32>) {collective = 0 : i64} -> tensor<4x1xf32>
      return %z : tensor<4x1xf32>
    }
    ```
    Constraints:
    * (C1) input and output differ in their rows alone;
    * (C2) offsets and sizes have one type, of k * p numbers of i32 or i64, p the
      product of the axes.
  }];
  let arguments = !con((ins AnyShaped:$input, AnyShaped:$input_offsets, AnyShaped:$send_sizes,
                       AnyShaped:$output_offsets, AnyShaped:$recv_sizes, AnyShaped:$output,
                       FlatSymbolRefAttr:$mesh, Shoal_AxesAttr:$axes,
                       OptionalAttr<I64Attr>:$collective), Rt_Scratch);
  let assemblyFormat = !strconcat([{
    $mesh $axes `ins` `(` $input `,` $input_offsets `,` $send_sizes `,` $output_offsets `,`
    $recv_sizes `:` type($input) `,` type($input_offsets) `,` type($send_sizes) `,`
    type($output_offsets) `,` type($recv_sizes) `)`
    `outs` `(` $output `:` type($output) `)` }],
    Rt_ScratchFormat, "attr-dict (`->` type($results)^)?");
  let declarations = !strconcat(Rt_CollectiveDeclarations, Rt_ScratchDeclarations,
                                "bool readsOutputs() { return true; }\n",
                                "bool isRagged() { return true; }");
}

def Rt_CollectivePermuteOp : Rt_CollectiveOp<"collective_permute"> {
  let summary = "Each device sends its tensor to one other";
  let description = [{
    See `spmd.collective_permute`.
    ```mlir
    func.func @permute(%x: tensor<4x6xf32>, %init: tensor<4x6xf32>) -> tensor<4x6xf32> {
      %y = rt.collective_permute @mesh {"x", "y"} -> @mesh {"y", "x"} ins(%x : tensor<4x6xf32>)
           outs(%init : tensor<4x6xf32>) {collective = 0 : i64} -> tensor<4x6xf32>
      return %y : tensor<4x6xf32>
    }
    ```
    Constraints:
    * (C1) the output has the input's shape and element type;
    * (C2) 0 <= `shift` < p, p the product of the axes; `pairs` are of indices
      in 0 … p - 1, each at most once as the first and at most once as the second
      of a pair, and beside no `shift`;
    * (C3) the two meshes have the same axes, and both lists name the same parts
      of the same ones.
  }];
  let arguments = (ins AnyShaped:$input, AnyShaped:$output, FlatSymbolRefAttr:$mesh,
                       Shoal_AxesAttr:$source_axes, FlatSymbolRefAttr:$target_mesh,
                       Shoal_AxesAttr:$target_axes, DefaultValuedAttr<I64Attr, "0">:$shift,
                       OptionalAttr<DenseI64ArrayAttr>:$pairs, OptionalAttr<I64Attr>:$collective);
  let assemblyFormat = !strconcat(
      "$mesh $source_axes `->` $target_mesh $target_axes ",
      Rt_InputAndOutput);
}

def Rt_ExchangeDimAttr : Rt_Attr<"ExchangeDim", "exchange_dim"> {
  let summary = "Which rows of a dimension each device has, and which it gets";
  let description = [{
    A dimension of `size` rows. The device with index i over the axes `source`
    has block i of ceil(size / p) rows; the one with index j over `target` gets
    the `rows` rows from floor((step * j + offset) / divisor) on.
  }];
  let parameters = (ins "int64_t":$size, DefaultValuedParameter<"int64_t", "0">:$step,
                        DefaultValuedParameter<"int64_t", "0">:$offset,
                        DefaultValuedParameter<"int64_t", "1">:$divisor, "int64_t":$rows,
                        "::shoal::AxesAttr":$source, "::shoal::AxesAttr":$target);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Rt_ExchangeOp : Rt_PackingCollectiveOp<"exchange"> {
  let summary = "Each device gets a box of a tensor, wherever its rows are";
  let description = [{
    See `spmd.exchange` and, where `halo` says that all dimensions but one keep
    their blocks, `spmd.halo_exchange`, as which the runtime then counts it.
    Rows before the first and past the last are not written.
    ```mlir
    func.func @exchange(%x: tensor<2x2xf32>, %init: tensor<3x1xf32>) -> tensor<3x1xf32> {
      %y = rt.exchange @mesh -> @mesh
           [#rt.exchange_dim<size = 3, rows = 3, source = {"x"}, target = {}>,
            #rt.exchange_dim<size = 2, step = 1, rows = 1, source = {}, target = {"x"}>]
           ins(%x : tensor<2x2xf32>) outs(%init : tensor<3x1xf32>) {collective = 0 : i64}
           -> tensor<3x1xf32>
      return %y : tensor<3x1xf32>
    }
    ```
    Constraints:
    * (C1) there is an entry for each dimension;
    * (C2) the input's sizes are ceil(size / p), p the product of the source
      axes, the output's are the `rows`; one element type;
    * (C3) `size` and `rows` are not negative, the divisor is at least 1, and no
      window begins past 2^60 rows;
    * (C4) the two meshes have the same axes.
  }];
  let arguments = !con((ins AnyShaped:$input, AnyShaped:$output, FlatSymbolRefAttr:$mesh,
                       FlatSymbolRefAttr:$target_mesh,
                       TypedArrayAttrBase<Rt_ExchangeDimAttr, "dimensions">:$dims,
                       UnitAttr:$halo, OptionalAttr<I64Attr>:$collective), Rt_Scratch);
  let assemblyFormat = !strconcat(
      "$mesh `->` $target_mesh $dims (`halo` $halo^)? ",
      Rt_InputOutputAndScratch);
}

def Rt_WaitOp : Op<Rt_Dialect, "wait", [DeclareOpInterfaceMethods<RuntimeCallOpInterface>]> {
  let summary = "Work behind it waits for a collective";
  let description = [{
    What follows on this device runs behind the call with this number of
    `collective`, as it was last made. Of targets that communicate in the
    background.
    ```mlir
    rt.wait 3
    ```
    Constraints:
    * (C1) the number is not negative.
  }];
  let arguments = (ins I64Attr:$collective);
  let assemblyFormat = "$collective attr-dict";
  let hasVerifier = 1;
}

#endif // RT_COLLECTIVE_OPS_TD
