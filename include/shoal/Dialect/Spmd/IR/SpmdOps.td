// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SPMD_OPS_TD
#define SPMD_OPS_TD

include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "shoal/Dialect/Shoal/IR/ShoalTypes.td"
include "shoal/Dialect/Spmd/IR/SpmdAttrs.td"
include "shoal/Dialect/Spmd/IR/SpmdInterfaces.td"

class Spmd_Op<string mnemonic, list<Trait> traits = []>
    : Op<Spmd_Dialect, mnemonic, [Pure] # traits> {
  let hasVerifier = 1;
}

/// An op that moves data.
defvar Spmd_Collective = DeclareOpInterfaceMethods<CollectiveOpInterface, ["countBytes", "getCollectiveKind"]>;
/// The same that computes on the way.
defvar Spmd_ReducingCollective =
    DeclareOpInterfaceMethods<CollectiveOpInterface, ["countBytes", "getCollectiveKind", "reduces"]>;
/// One that moves data between two lists of axes.
defvar Spmd_TwoSidedCollective =
    DeclareOpInterfaceMethods<CollectiveOpInterface,
        ["countBytes", "getCollectiveKind", "describeAxes", "getResultMeshAttr"]>;
/// One of which nothing may move.
defvar Spmd_Permutation =
    DeclareOpInterfaceMethods<CollectiveOpInterface,
        ["communicates", "countBytes", "getCollectiveKind", "describeAxes", "getResultMeshAttr"]>;
/// An op that depends on the device's place and moves nothing.
defvar Spmd_Local = DeclareOpInterfaceMethods<CollectiveOpInterface, ["communicates"]>;

def Spmd_AxisIndexOp : Spmd_Op<"axis_index", [Spmd_Local]> {
  let summary = "The device's index over a list of axes";
  let description = [{
    The coordinates on `axes`, major to minor, read as one number: 0 … p - 1.
    ```mlir
    %i = spmd.axis_index @mesh {"x", "y"} : tensor<i32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$mesh, Shoal_AxesAttr:$axes);
  let results = (outs 0DTensorOf<[I32]>:$result);
  let assemblyFormat = "$mesh $axes attr-dict `:` type($result)";
}

def Spmd_AllSliceOp : Spmd_Op<"all_slice", [Spmd_Local]> {
  let summary = "Each device keeps its own part; nothing is sent";
  let description = [{
    Result dimension d of size b = ceil(n / p), p the product of `axes[d]`,
    holds the rows i * b … (i + 1) * b - 1 of the operand, i the device's index
    over `axes[d]`. Rows past the operand's end are unspecified.
    ```mlir
    %y = spmd.all_slice @mesh [{"x"}, {} ] %x : tensor<4x6xf32> -> tensor<2x6xf32>
    ```
    ```
    | a |  | a |        | a |  |   |
    | b |  | b |   ->   |   |  | b |
    ```
    Constraints:
    * (C1) `axes` has a list for each dimension;
    * (C2) the result's sizes are ceil(n / p), one element type.
  }];
  let arguments = (ins FlatSymbolRefAttr:$mesh, Spmd_AxesPerDim:$axes, Shoal_Tensor:$input,
                       OptionalAttr<StrAttr>:$why);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = "$mesh custom<AxesPerDim>($axes) $input attr-dict `:` type($input) `->` type($result)";
}

def Spmd_AllGatherOp : Spmd_Op<"all_gather", [Spmd_Collective]> {
  let summary = "Every device gets the parts of all devices of its group";
  let description = [{
    The inverse of `all_slice`: along dimension d the shards over `axes[d]`
    stand one behind the other, cut to the result's size.
    ```mlir
    %y = spmd.all_gather @mesh [{"x"}, {} ] %x : tensor<2x6xf32> -> tensor<4x6xf32>
    ```
    ```
    | a |  |   |        | a |  | a |
    |   |  | b |   ->   | b |  | b |
    ```
    Constraints:
    * (C1) `axes` has a list for each dimension;
    * (C2) the operand's sizes are ceil(n / p), n the result's and p the product
      of `axes[d]`; one element type.
  }];
  let arguments = (ins FlatSymbolRefAttr:$mesh, Spmd_AxesPerDim:$axes, Shoal_Tensor:$input,
                       OptionalAttr<StrAttr>:$why);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = "$mesh custom<AxesPerDim>($axes) $input attr-dict `:` type($input) `->` type($result)";
}

def Spmd_AllReduceOp : Spmd_Op<"all_reduce", [Spmd_ReducingCollective, SameOperandsAndResultType]> {
  let summary = "Every device gets the reduction over its group";
  let description = [{
    ```mlir
    %y = spmd.all_reduce sum @mesh {"x"} %x : tensor<4x6xf32>
    ```
    ```
    | a |  | b |   ->   | a+b |  | a+b |
    ```
    Constraints:
    * (C1) `and` and `or` take integers, the others all but i1.
  }];
  let arguments = (ins Shoal_ReduceKind:$kind, FlatSymbolRefAttr:$mesh, Shoal_AxesAttr:$axes,
                       Shoal_Tensor:$input, OptionalAttr<StrAttr>:$why);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = "$kind $mesh $axes $input attr-dict `:` type($result)";
}

def Spmd_ReduceScatterOp : Spmd_Op<"reduce_scatter", [Spmd_ReducingCollective]> {
  let summary = "Each device gets its own part of the reduction over its group";
  let description = [{
    `all_reduce` over all the axes named, then `all_slice` by `axes`.
    ```mlir
    %y = spmd.reduce_scatter sum @mesh [{"x"}, {} ] %x : tensor<4x6xf32> -> tensor<2x6xf32>
    ```
    ```
    | a |  | c |        | a+c |  |     |
    | b |  | d |   ->   |     |  | b+d |
    ```
    Constraints:
    * (C1) `axes` has a list for each dimension;
    * (C2) the result's sizes are ceil(n / p), one element type;
    * (C3) `and` and `or` take integers, the others all but i1.
  }];
  let arguments = (ins Shoal_ReduceKind:$kind, FlatSymbolRefAttr:$mesh, Spmd_AxesPerDim:$axes,
                       Shoal_Tensor:$input, OptionalAttr<StrAttr>:$why);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = "$kind $mesh custom<AxesPerDim>($axes) $input attr-dict `:` type($input) `->` type($result)";
}

def Spmd_AllToAllOp : Spmd_Op<"all_to_all", [Spmd_Collective]> {
  let summary = "Axes leave some dimensions for others";
  let description = [{
    One exchange among the group of all axes named. For each move the target
    dimension is cut into p blocks of ceil(n / p) rows and block t goes to the
    device with index t; the pieces received stand one behind the other along
    the source dimension, cut to the result's size. Several moves may share a
    dimension: then the first one listed is the major one there.
    ```mlir
    %y = spmd.all_to_all @mesh [{"x"} : 0 -> 1] %x : tensor<1x4xf32> -> tensor<2x2xf32>
    ```
    ```
    | a b |  |     |        | a |  | b |
    |     |  | c d |   ->   | c |  | d |
    ```
    Constraints:
    * (C1) each move is from one dimension to another;
    * (C2) where p_out and p_in are the products of the axes that leave a
      dimension and come to it, the operand's size is ceil(n / p_out) and the
      result's ceil(n / p_in) for one n; one rank and element type;
    * (C3) of each dimension p_out or p_in is 1: blocks of what others have of
      it are no blocks of what a device is to have.
  }];
  let arguments = (ins FlatSymbolRefAttr:$mesh, Spmd_Moves:$moves, Shoal_Tensor:$input,
                       OptionalAttr<StrAttr>:$why);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = "$mesh custom<Moves>($moves) $input attr-dict `:` type($input) `->` type($result)";
}

def Spmd_CollectivePermuteOp : Spmd_Op<"collective_permute", [Spmd_Permutation, SameOperandsAndResultType]> {
  let summary = "Each device sends its tensor to one other";
  let description = [{
    The device with index i over `source_axes` of `mesh` sends to the device
    with index i over `target_axes` of `target_mesh`; both have the same
    coordinates on the axes that are not named. The lists name the same
    (sub-)axes, in another order, or the meshes differ in their device order.
    ```mlir
    %y = spmd.collective_permute @mesh {"x", "y"} -> @mesh {"y", "x"} %x : tensor<4x6xf32>
    ```
    With a `shift` of s the receiver is the one with index (i + s) mod p, p the
    product of the axes: a ring for s = 1.
    ```mlir
    %z = spmd.collective_permute @mesh {"x", "y"} -> @mesh {"x", "y"} %x {shift = 1} : tensor<4x6xf32>
    ```
    ```
    | a |  | b |  | c |  | d |   ->   | d |  | a |  | b |  | c |
    ```
    With `pairs`, s1, t1, s2, t2, …, the device with index s1 sends to the one
    with index t1, and so on. Who sends nothing is in no pair as the first one;
    who is sent nothing has zeros.
    ```mlir
    %w = spmd.collective_permute @mesh {"x", "y"} -> @mesh {"x", "y"} %x {pairs = array<i64: 0, 3, 3, 1>} : tensor<4x6xf32>
    ```
    ```
    | a |  | b |  | c |  | d |   ->   | 0 |  | d |  | 0 |  | a |
    ```
    Constraints:
    * (C1) the two meshes have the same axes;
    * (C2) both lists name the same parts of the same axes;
    * (C3) 0 <= `shift` < p;
    * (C4) `pairs` are of indices in 0 … p - 1, each at most once as the first
      and at most once as the second of a pair, and beside no `shift`.
  }];
  let arguments = (ins FlatSymbolRefAttr:$mesh, Shoal_AxesAttr:$source_axes,
                       FlatSymbolRefAttr:$target_mesh, Shoal_AxesAttr:$target_axes,
                       Shoal_Tensor:$input, DefaultValuedAttr<I64Attr, "0">:$shift,
                       OptionalAttr<DenseI64ArrayAttr>:$pairs, OptionalAttr<StrAttr>:$why);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = [{
    $mesh $source_axes `->` $target_mesh $target_axes $input attr-dict `:` type($result)
  }];
  let extraClassDeclaration = [{
    /// Of each of the `p` indices over the axes the one that it sends to; -1
    /// where it sends nothing.
    ::llvm::SmallVector<int64_t> getReceivers(int64_t p);
  }];
}

include "shoal/Dialect/Spmd/IR/SpmdExchangeOps.td"
include "shoal/Dialect/Spmd/IR/SpmdRaggedOps.td"

#endif // SPMD_OPS_TD
