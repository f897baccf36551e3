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

#endif // SPMD_EXCHANGE_OPS_TD
