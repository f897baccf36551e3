// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The collective whose sizes are values of the program. Included by SpmdOps.td.

#ifndef SPMD_RAGGED_OPS_TD
#define SPMD_RAGGED_OPS_TD

include "shoal/Dialect/Spmd/IR/SpmdOps.td"

def Spmd_RaggedAllToAllOp
    : Spmd_Op<"ragged_all_to_all",
              [DeclareOpInterfaceMethods<CollectiveOpInterface, ["countBytes", "countMeanRows", "getCollectiveKind"]>,
               AllTypesMatch<["output", "result"]>,
               AllTypesMatch<["input_offsets", "send_sizes", "output_offsets", "recv_sizes"]>]> {
  let summary = "Each device sends as many rows as it likes to each";
  let description = [{
    The program is the same on all devices and its shapes are static, but how
    many rows travel is known only as it runs. Of the p devices of the group
    each sends k slices of rows to each, itself among them: entry t * k + j of
    `input_offsets`, `send_sizes` and `output_offsets` is of its slice j for the
    device with index t. The slice is the `send_sizes` rows from `input_offsets`
    on of `input`, and gets to the rows from `output_offsets` on of *that
    device's* `output`. Entry s * k + j of `recv_sizes` is how many rows slice j
    of the device with index s has. Rows of `output` that nobody sends stay as
    they were. It is the operation of this name of StableHLO and of JAX.
    ```mlir
    func.func @send(%x: tensor<3x1xf32>, %y: tensor<4x1xf32>, %from: tensor<2xi32>, %count: tensor<2xi32>,
                    %to: tensor<2xi32>, %come: tensor<2xi32>) -> tensor<4x1xf32> {
      %z = spmd.ragged_all_to_all @mesh {"x"} %x into %y send(%from, %count) to(%to) receive(%come)
         : tensor<3x1xf32> into tensor<4x1xf32>, tensor<2xi32>
      return %z : tensor<4x1xf32>
    }
    ```
    Here device 0 has `from` [0, 1], `count` [1, 2], `to` [0, 0] and `come`
    [1, 1]; device 1 has [0, 1], [1, 0], [1, 2] and [2, 0]. Zeros were there.
    ```
    | a |  | d |        | a |  | b |
    | b |  | e |   ->   | d |  | c |
    | c |  | f |        | 0 |  | 0 |
                        | 0 |  | 0 |
    ```
    Its transpose is one with the roles of the two sides exchanged. No slice may
    lie outside of its tensor, sizes must be what the sender and the receiver
    both say, and no row of an output may be sent twice: else the program ends
    with an error.

    Counted are (p - 1) / p of `mean_rows` rows, as if each device got as many; of
    the rows of the smaller of both tensors where it is not said. Only who writes
    the program knows of how many rows there are in a buffer. The runtime counts
    what is really sent.

    Constraints:
    * (C1) the two tensors have a dimension for the rows, the same other
      dimensions and one element type;
    * (C2) offsets and sizes are lists of k * p numbers of i32 or i64, k at
      least 1;
    * (C3) `mean_rows` is at least 0 and at most the rows of the smaller tensor.
  }];
  let arguments = (ins FlatSymbolRefAttr:$mesh, Shoal_AxesAttr:$axes, Shoal_Tensor:$input,
                       Shoal_Tensor:$output, Shoal_Tensor:$input_offsets,
                       Shoal_Tensor:$send_sizes, Shoal_Tensor:$output_offsets,
                       Shoal_Tensor:$recv_sizes, OptionalAttr<I64Attr>:$mean_rows,
                       OptionalAttr<StrAttr>:$why);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = [{
    $mesh $axes $input `into` $output `send` `(` $input_offsets `,` $send_sizes `)`
    `to` `(` $output_offsets `)` `receive` `(` $recv_sizes `)` attr-dict
    `:` type($input) `into` type($output) `,` type($input_offsets)
  }];
}

#endif // SPMD_RAGGED_OPS_TD
