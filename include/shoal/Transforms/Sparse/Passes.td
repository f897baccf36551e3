// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_TRANSFORMS_SPARSE_PASSES_TD
#define SHOAL_TRANSFORMS_SPARSE_PASSES_TD

include "mlir/Pass/PassBase.td"
include "shoal/Transforms/Options/PartitionOptions.td"

def SparsifyEinsums : Pass<"shoal-sparsify-einsums", "::mlir::func::FuncOp"> {
  let summary = "Einsums with one-hot operands become gathers and scatters";
  let description = [{
    GShard's dispatch and combine are einsums with masks of [G, S, E, C] that are
    zero but for a few elements a token. An einsum whose operand is known to be
    so is computed from these elements alone, whatever the program calls the
    mask: equality with an iota, products, sums and choices of such, their
    casts and views ([Sparse.md](../internals/Sparse.md)).

    | before | after |
    |---|---|
    | a dimension with places is summed over | a gather of the rows at the places, weighted and summed in their order |
    | it is in the result | a scatter that adds the rows to zeros |
    | an element of an einsum is read at places alone, as gradients are | the sum of products of the rows that are read there |
    | who else reads a mask | it is made by comparisons, for that reader |
    | a loop carries a mask, or a choice yields one | they carry and yield its places and values, where these differ from time to time |

    An einsum is rewritten if it has at least `min-gain` multiply-adds for each
    element that is moved instead; ten times as many where these do not lie
    together in 64 bytes. Zeros that nobody computes are zeros also where they
    would be multiplied by a NaN. Assumes per-device functions, or global ones
    without annotations; leaves nothing behind that nobody reads. The function's
    attribute `shoal.one_hots` says of each einsum what became of it.

    ```mlir
    func.func @embed(%token: tensor<8xi32>, %table: tensor<1000x64xf32>) -> tensor<8x64xf32> {
      %i = shoal.iota dim = 1 : tensor<8x1000xi32>
      %t = shoal.broadcast_in_dim %token dims = [0] : tensor<8xi32> -> tensor<8x1000xi32>
      %m = arith.cmpi eq, %t, %i : tensor<8x1000xi32>
      %h = arith.uitofp %m : tensor<8x1000xi1> to tensor<8x1000xf32>
      %y = shoal.einsum "TV,VM->TM" %h, %table : (tensor<8x1000xf32>, tensor<1000x64xf32>) -> tensor<8x64xf32>
      return %y : tensor<8x64xf32>
    }
    ```
    becomes
    ```mlir
    ...
      %0 = arith.cmpi ult, %token, %cst : tensor<8xi32>
      %1 = shoal.gather %table, %token offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0] index_vector_dim = 1 slice_sizes = [1, 64] : (tensor<1000x64xf32>, tensor<8xi32>) -> tensor<8x64xf32>
      %2 = shoal.broadcast_in_dim %0 dims = [0] : tensor<8xi1> -> tensor<8x64xi1>
    ...
      %3 = arith.select %2, %1, %cst_0 : tensor<8x64xi1>, tensor<8x64xf32>
    ...
    ```
  }];
  let options = [
    PassOptionOf<OneHotGain, "min-gain", "minGain">,
    Option<"explain", "explain", "bool", "false",
           "A remark for each einsum: how it is computed, and why">
  ];
  let dependentDialects = ["::shoal::ShoalDialect", "::mlir::arith::ArithDialect"];
}

#endif // SHOAL_TRANSFORMS_SPARSE_PASSES_TD
