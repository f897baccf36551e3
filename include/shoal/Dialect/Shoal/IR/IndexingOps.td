// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ops that read or write at places known only at run time.

#ifndef SHOAL_INDEXING_OPS_TD
#define SHOAL_INDEXING_OPS_TD

include "shoal/Dialect/Shoal/IR/ShoalOpBase.td"

def Shoal_IndexTensor : Shoal_TensorOf<[I64, I32, I16, I8]>;

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

def Shoal_DynamicSliceOp : Shoal_Op<"dynamic_slice", [Pure]> {
  let summary = "A rectangular part that begins where numbers of the program say";
  let description = [{
    Dimension d keeps `sizes[d]` rows from `starts[d]` on, a signed number that
    is clamped to 0 … size - `sizes[d]`: the part never reaches past an end.
    StableHLO dynamic_slice.
    ```mlir
    %y = shoal.dynamic_slice %x [%i, %j] sizes = [2, 6]
       : (tensor<5x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x6xf32>
    ```
    Constraints:
    * (C1) a start per dimension, scalar tensors of one type;
    * (C2) a size per dimension, 0 <= size <= the operand's;
    * (C3) the result has these sizes and the operand's element type.
  }];
  let arguments = (ins Shoal_Tensor:$input, Variadic<Shoal_IndexTensor>:$starts,
                       DenseI64ArrayAttr:$sizes);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = [{
    $input `[` $starts `]` `sizes` `=` $sizes attr-dict `:` functional-type(operands, $result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Shoal_DynamicUpdateSliceOp : Shoal_Op<"dynamic_update_slice", [Pure]> {
  let summary = "Writes a tensor into a larger one where numbers of the program say";
  let description = [{
    The result is the operand but for the box of the update's shape that begins
    at `starts`, clamped as those of `dynamic_slice`; there it is the update.
    StableHLO dynamic_update_slice.
    ```mlir
    %y = shoal.dynamic_update_slice %x, %update [%i, %j]
       : (tensor<5x6xf32>, tensor<2x6xf32>, tensor<i32>, tensor<i32>) -> tensor<5x6xf32>
    ```
    Constraints:
    * (C1) a start per dimension, scalar tensors of one type;
    * (C2) the update has the operand's rank and element type, and no dimension
      that is larger;
    * (C3) the result has the operand's type.
  }];
  let arguments = (ins Shoal_Tensor:$input, Shoal_Tensor:$update,
                       Variadic<Shoal_IndexTensor>:$starts);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $update `[` $starts `]` attr-dict `:` functional-type(operands, $result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Gather and scatter
//===----------------------------------------------------------------------===//

def Shoal_GatherOp : Shoal_Op<"gather", [Pure]> {
  let summary = "Windows of a tensor that begin where an array of indices says";
  let description = [{
    Each line of `indices` along `index_vector_dim` is the start of one window
    of the sizes `slice_sizes`: its entry k is the place in operand dimension
    `start_index_map[k]`, clamped so that the window fits; windows begin at 0 in
    the other dimensions. A window lies in the result along `offset_dims`, one
    for each operand dimension that is neither collapsed nor a batching one, in
    their order; the result's other dimensions are those of `indices` without
    `index_vector_dim`. An operand batching dimension has the index that the
    window has along its `start_indices_batching_dims`. StableHLO gather.

    The rows of a table that some tokens have, and an element a row:
    ```mlir
    %y = shoal.gather %table, %tokens offset_dims = [2] collapsed_slice_dims = [0]
         start_index_map = [0] index_vector_dim = 2 slice_sizes = [1, 64]
       : (tensor<1000x64xf32>, tensor<8x128xi32>) -> tensor<8x128x64xf32>
    %z = shoal.gather %x, %places offset_dims = [] collapsed_slice_dims = [1]
         operand_batching_dims = [0] start_indices_batching_dims = [0]
         start_index_map = [1] index_vector_dim = 1 slice_sizes = [1, 1]
       : (tensor<8x16xf32>, tensor<8xi32>) -> tensor<8xf32>
    ```
    Constraints:
    * (C1) `collapsed_slice_dims` and `operand_batching_dims` are operand
      dimensions, each in ascending order, none in both;
    * (C2) a slice size per operand dimension, 0 to the operand's; 1 in
      collapsed dimensions, and in batching ones that have a row;
    * (C3) `offset_dims` are result dimensions, in ascending order, as many as
      operand dimensions are neither collapsed nor batching;
    * (C4) `index_vector_dim` is a dimension of `indices` or, where each element
      is an index, its rank;
    * (C5) `start_index_map` has an entry per element of an index, distinct
      operand dimensions that are not batching ones;
    * (C6) `start_indices_batching_dims` are distinct dimensions of `indices`
      without `index_vector_dim`, one for each of `operand_batching_dims` and
      of its size;
    * (C7) the result has the sizes of `indices` without `index_vector_dim` and,
      at `offset_dims`, of the windows; the operand's element type.
  }];
  let arguments = (ins Shoal_Tensor:$input, Shoal_IndexTensor:$indices,
      DenseI64ArrayAttr:$offset_dims, DenseI64ArrayAttr:$collapsed_slice_dims,
      DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$operand_batching_dims,
      DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$start_indices_batching_dims,
      DenseI64ArrayAttr:$start_index_map, I64Attr:$index_vector_dim,
      DenseI64ArrayAttr:$slice_sizes);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $indices `offset_dims` `=` $offset_dims
    `collapsed_slice_dims` `=` $collapsed_slice_dims
    (`operand_batching_dims` `=` $operand_batching_dims^)?
    (`start_indices_batching_dims` `=` $start_indices_batching_dims^)?
    `start_index_map` `=` $start_index_map `index_vector_dim` `=` $index_vector_dim
    `slice_sizes` `=` $slice_sizes attr-dict `:` functional-type(operands, $result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Shoal_ScatterOp : Shoal_Op<"scatter", [Pure]> {
  let summary = "Combines windows into a tensor where an array of indices says";
  let description = [{
    The inverse of `gather`: each line of `indices` along `index_vector_dim` is
    the place in the operand of one window of `updates`. Its entry k is the
    place in operand dimension `scatter_dims_to_operand_dims[k]`, 0 in the
    others. A window lies in `updates` along `update_window_dims`, one for each
    operand dimension that is neither inserted nor a batching one, in their
    order; the other dimensions of `updates` are those of `indices` without
    `index_vector_dim`. StableHLO scatter.

    An element whose place lies outside the operand is dropped, also where the
    rest of its window lies inside; a window may be larger than the operand. So
    has StableHLO's specification it; XLA and JAX drop such a window whole, which
    programs of theirs say by places past the end (docs/guide/JAX.md). The kind says
    how an update is combined with what is there: as in `reduce`, or
    `overwrite`. Updates of one place are combined in row-major order of
    `updates`, so that the last one stays; sums and products of bf16 and f16 are
    accumulated in f32 and rounded once. `unique_indices` promises that no two
    windows begin at the same place of the operand, but outside of it: a GPU then
    need not bring equal ones together. The interpreter checks it.

    The gradient of a table of embeddings:
    ```mlir
    %y = shoal.scatter sum %zeros, %tokens, %gradient update_window_dims = [2]
         inserted_window_dims = [0] scatter_dims_to_operand_dims = [0] index_vector_dim = 2
       : (tensor<1000x64xf32>, tensor<8x128xi32>, tensor<8x128x64xf32>) -> tensor<1000x64xf32>
    ```
    Constraints:
    * (C1) `inserted_window_dims` and `input_batching_dims` are operand
      dimensions, each in ascending order, none in both;
    * (C2) `update_window_dims` are dimensions of `updates`, in ascending order,
      as many as operand dimensions are neither inserted nor batching;
    * (C3) `index_vector_dim` is a dimension of `indices` or, where each element
      is an index, its rank;
    * (C4) `scatter_dims_to_operand_dims` has an entry per element of an index,
      distinct operand dimensions that are not batching ones;
    * (C5) `scatter_indices_batching_dims` are distinct dimensions of `indices`
      without `index_vector_dim`, one for each of `input_batching_dims` and of
      its size;
    * (C6) `updates` has the sizes of `indices` without `index_vector_dim`, and
      the operand's element type;
    * (C7) the result has the operand's type;
    * (C8) `and` and `or` take integers, other kinds but overwrite all but i1.
  }];
  let arguments = (ins OptionalAttr<Shoal_ReduceKind>:$kind,
      Shoal_Tensor:$input, Shoal_IndexTensor:$indices, Shoal_Tensor:$updates,
      DenseI64ArrayAttr:$update_window_dims, DenseI64ArrayAttr:$inserted_window_dims,
      DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$input_batching_dims,
      DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$scatter_indices_batching_dims,
      DenseI64ArrayAttr:$scatter_dims_to_operand_dims, I64Attr:$index_vector_dim,
      UnitAttr:$unique_indices);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = [{
    ($kind^) : (`overwrite`)? $input `,` $indices `,` $updates
    `update_window_dims` `=` $update_window_dims
    `inserted_window_dims` `=` $inserted_window_dims
    (`input_batching_dims` `=` $input_batching_dims^)?
    (`scatter_indices_batching_dims` `=` $scatter_indices_batching_dims^)?
    `scatter_dims_to_operand_dims` `=` $scatter_dims_to_operand_dims
    `index_vector_dim` `=` $index_vector_dim attr-dict `:` functional-type(operands, $result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif // SHOAL_INDEXING_OPS_TD
