// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The collectives in which each device receives the rows that it lacks.
// Included by SpmdOps.td.

#ifndef SPMD_EXCHANGE_OPS_TD
#define SPMD_EXCHANGE_OPS_TD

include "shoal/Dialect/Spmd/IR/SpmdOps.td"

def Spmd_HaloExchangeOp : Spmd_Op<"halo_exchange", [Spmd_Collective]> {
  let summary = "Each device gets a window of rows, wherever they are";
  let description = [{
    Dimension `dim` of a tensor has `size` rows and is split over `axes`: the
    device with index i has the rows i * b … (i + 1) * b - 1, b = ceil(size / p)
    the operand's size, p the product of the axes. Of the result, of R rows,
    row r on that device is row
    floor((step * i + offset) / divisor) + r. Rows before the first and past the
    last of the `size` rows are unspecified.

    Windows may be wider than a block, go past several devices, lie in the
    device's own block, be the same on all devices (step 0) or run backwards
    (step < 0). A device receives the rows of its window that it lacks, from
    the one device that has each.
    ```mlir
    %y = spmd.halo_exchange @mesh {"x"} %x {dim = 0, size = 7, step = 4, offset = -1}
       : tensor<4x6xf32> -> tensor<6x6xf32>
    ```
    ```
    | a |  | e |        |   |  | d |
    | b |  | f |        | a |  | e |
    | c |  | g |   ->   | b |  | f |
    | d |  |   |        | c |  | g |
                        | d |  |   |
                        | e |  |   |
    ```
    Constraints:
    * (C1) `dim` is a dimension of the operand, `size` is not negative and
      `divisor` is at least 1;
    * (C2) the operand has ceil(size / p) rows;
    * (C3) the result has the operand's rank, element type and, but for `dim`,
      sizes;
    * (C4) |step| * p + |offset| is at most 2^60.
  }];
  let arguments = (ins FlatSymbolRefAttr:$mesh, Shoal_AxesAttr:$axes, Shoal_Tensor:$input,
                       I64Attr:$dim, I64Attr:$size, I64Attr:$step, I64Attr:$offset,
                       DefaultValuedAttr<I64Attr, "1">:$divisor, OptionalAttr<StrAttr>:$why);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = "$mesh $axes $input attr-dict `:` type($input) `->` type($result)";
  let extraClassDeclaration = [{
    /// The numbers of the window, signed; its rows are the result's.
    ::shoal::RowWindow getWindow();
    int64_t getNumRows() { return static_cast<int64_t>(getSize()); }
  }];
}

def Spmd_ExchangeOp : Spmd_Op<"exchange", [Spmd_TwoSidedCollective]> {
  let summary = "Each device gets the block of another sharding";
  let description = [{
    A tensor of sizes `shape` changes from one sharding to any other at once.
    Dimension d of n rows is split over `source_axes[d]` of `mesh` before and
    over `target_axes[d]` of `target_mesh` behind: the device with index i over
    them has the rows i * b … (i + 1) * b - 1, b = ceil(n / p). Rows past the
    end are unspecified. Devices that differ on other axes alone hold the same.

    A device receives just what it lacks, from the device that has it; where
    several have it they share the work evenly. The least bytes that a device
    must receive are enough, but where the only holder of a block is asked for
    more than it lacks itself.
    ```mlir
    %y = spmd.exchange @mesh [{"x"}, {} ] -> @mesh [{}, {"x"} ] %x shape = [3, 2]
       : tensor<2x2xf32> -> tensor<3x1xf32>
    ```
    ```
    | a b |  | e f |        | a |  | b |
    | c d |  |     |   ->   | c |  | d |
                            | e |  | f |
    ```
    Constraints:
    * (C1) the two meshes have the same axes;
    * (C2) `source_axes`, `target_axes` and `shape` have an entry for each
      dimension, sizes are not negative;
    * (C3) the operand's sizes are ceil(n / p) by the source axes;
    * (C4) the result's are that by the target axes; one element type.
  }];
  let arguments = (ins FlatSymbolRefAttr:$mesh, Spmd_AxesPerDim:$source_axes,
                       FlatSymbolRefAttr:$target_mesh, Spmd_AxesPerDim:$target_axes,
                       Shoal_Tensor:$input, DenseI64ArrayAttr:$shape,
                       OptionalAttr<StrAttr>:$why);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = [{
    $mesh custom<AxesPerDim>($source_axes) `->` $target_mesh custom<AxesPerDim>($target_axes)
    $input `shape` `=` $shape attr-dict `:` type($input) `->` type($result)
  }];
}

#endif // SPMD_EXCHANGE_OPS_TD
