// One line per op: its factors, and where they stand.
//
// RUN: shoal-opt %s --shoal-print-factor-rules -verify-diagnostics

func.func @elementwise(%a: tensor<8x3xf32>, %b: tensor<8x3xf32>, %c: tensor<8x3xi1>) {
  // expected-remark @below {{([i, j], [i, j]) -> ([i, j]) i=8 j=3, linear in (0, 1)}}
  %0 = arith.addf %a, %b : tensor<8x3xf32>
  // expected-remark @below {{([i, j], [i, j]) -> ([i, j]) i=8 j=3, linear in (0) (1)}}
  %1 = arith.mulf %a, %b : tensor<8x3xf32>
  // expected-remark @below {{([i, j], [i, j]) -> ([i, j]) i=8 j=3, linear in (0)}}
  %2 = arith.divf %a, %b : tensor<8x3xf32>
  // expected-remark @below {{([i, j], [i, j], [i, j]) -> ([i, j]) i=8 j=3, linear in (1, 2)}}
  %3 = arith.select %c, %a, %b : tensor<8x3xi1>, tensor<8x3xf32>
  // expected-remark @below {{([i, j]) -> ([i, j]) i=8 j=3}}
  %4 = math.exp %a : tensor<8x3xf32>
  return
}

func.func @broadcast_in_dim(%a: tensor<8xf32>, %b: tensor<1x3xf32>) {
  // expected-remark @below {{([i]) -> ([i, j]) i=8 j=3, linear in (0)}}
  %0 = shoal.broadcast_in_dim %a dims = [0] : tensor<8xf32> -> tensor<8x3xf32>
  // A repeated dimension splits for free.
  // expected-remark @below {{([, j]) -> ([i, j]) i=8 j=3, linear in (0)}}
  %1 = shoal.broadcast_in_dim %b dims = [0, 1] : tensor<1x3xf32> -> tensor<8x3xf32>
  return
}

func.func @concatenate(%a: tensor<8x3xf32>, %b: tensor<2x3xf32>) {
  // expected-remark @below {{([i, j], [i, j]) -> ([i, j]) i=10 j=3, linear in (0, 1), operand 0 dim 0 reads rows i, operand 1 dim 0 reads rows i-8}}
  %0 = shoal.concatenate %a, %b dim = 0 : (tensor<8x3xf32>, tensor<2x3xf32>) -> tensor<10x3xf32>
  return
}

func.func @constant() {
  // A splat is made in any sharding.
  // expected-remark @below {{() -> ([i]) i=3}}
  %0 = arith.constant dense<1.0> : tensor<3xf32>
  // expected-remark @below {{() -> ([i]) i=3, needs whole i}}
  %1 = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  return
}

func.func @cumulative(%a: tensor<8x3xf32>) {
  // expected-remark @below {{([i, j]) -> ([i, j]) i=8 j=3, linear in (0), gathers a slab of result 0 over j}}
  %0 = shoal.cumulative sum %a dim = 1 : tensor<8x3xf32>
  return
}

func.func @einsum(%x: tensor<8x5x3xf32>, %w: tensor<3x7xf32>, %s: tensor<4x4xf32>) {
  // expected-remark @below {{([i, j, k], [k, l]) -> ([i, j, l]) i=8 j=5 k=3 l=7, reduces k:sum, linear in (0) (1)}}
  %0 = shoal.einsum "GSM,ME->GSE" %x, %w : (tensor<8x5x3xf32>, tensor<3x7xf32>) -> tensor<8x5x7xf32>
  // One axis cannot split both dimensions of a diagonal.
  // expected-remark @below {{([i, i]) -> ([i]) i=4, needs whole i, linear in (0)}}
  %1 = shoal.einsum "AA->A" %s : (tensor<4x4xf32>) -> tensor<4xf32>
  return
}

func.func @iota() {
  // expected-remark @below {{() -> ([i, j]) i=8 j=3}}
  %0 = shoal.iota dim = 1 : tensor<8x3xi32>
  return
}

func.func @pad(%a: tensor<8x3xf32>, %v: tensor<f32>) {
  // expected-remark @below {{([i, j], []) -> ([i, j]) i=8 j=5, operand 0 dim 1 reads rows j-1}}
  %0 = shoal.pad %a, %v low = [0, 1] high = [0, 1] interior = [0, 0] : tensor<8x3xf32>, tensor<f32> -> tensor<8x5xf32>
  return
}

func.func @reduce(%a: tensor<8x3xf32>) {
  // expected-remark @below {{([i, j]) -> ([i]) i=8 j=3, reduces j:sum, linear in (0)}}
  %0 = shoal.reduce sum %a dims = [1] : tensor<8x3xf32> -> tensor<8xf32>
  // expected-remark @below {{([i, j]) -> ([j]) i=8 j=3, reduces i:max}}
  %1 = shoal.reduce max %a dims = [0] : tensor<8x3xf32> -> tensor<3xf32>
  return
}

func.func @reshape(%a: tensor<12x5xf32>, %b: tensor<3x2xf32>, %c: tensor<6x2xf32>, %d: tensor<8x6xf32>) {
  // expected-remark @below {{([ij, k]) -> ([i, j, k]) i=3 j=4(even) k=5, linear in (0), operand 0 dim 0 reads rows i in elements}}
  %0 = shoal.reshape %a : tensor<12x5xf32> -> tensor<3x4x5xf32>
  // expected-remark @below {{([i, j]) -> ([ij]) i=3 j=2(even), linear in (0), operand 0 dim 0 reads rows i in elements}}
  %1 = shoal.reshape %b : tensor<3x2xf32> -> tensor<6xf32>
  // Rows of 6 x 2 and of 4 x 3 have no common boundary but the middle one.
  // expected-remark @below {{([i, ]) -> ([i, ]) i=4, linear in (0), operand 0 dim 0 reads rows i in elements}}
  %2 = shoal.reshape %c : tensor<6x2xf32> -> tensor<4x3xf32>
  // expected-remark @below {{([ij, k]) -> ([i, jk]) i=4 j=2(even) k=6(even), linear in (0), operand 0 dim 0 reads rows i in elements}}
  %3 = shoal.reshape %d : tensor<8x6xf32> -> tensor<4x12xf32>
  return
}

func.func @slice(%a: tensor<8x6xf32>) {
  // expected-remark @below {{([i, j]) -> ([i, j]) i=8 j=3, linear in (0), operand 0 dim 1 reads rows 2*j+1}}
  %0 = shoal.slice %a starts = [0, 1] limits = [8, 6] strides = [1, 2] : tensor<8x6xf32> -> tensor<8x3xf32>
  return
}

func.func @reverse(%a: tensor<8x6xf32>) {
  // expected-remark @below {{([i, j]) -> ([i, j]) i=8 j=6, linear in (0), operand 0 dim 0 reads rows -1*i+7}}
  %0 = shoal.reverse %a dims = [0] : tensor<8x6xf32>
  return
}

func.func @roll(%a: tensor<8x6xf32>) {
  // expected-remark @below {{([i, j]) -> ([i, j]) i=8 j=6, linear in (0), operand 0 dim 0 reads rows i-2 around the end}}
  %0 = shoal.roll %a dim = 0 shift = 2 : tensor<8x6xf32>
  return
}

func.func @top_k(%a: tensor<8x6xf32>) {
  // expected-remark @below {{([i, j]) -> ([i, k], [i, k]) i=8 j=6 k=2, reduces j, needs whole k}}
  %v, %i = shoal.top_k %a {k = 2} : tensor<8x6xf32> -> tensor<8x2xf32>, tensor<8x2xi32>
  return
}

func.func @transpose(%a: tensor<8x6xf32>) {
  // expected-remark @below {{([j, i]) -> ([i, j]) i=6 j=8, linear in (0)}}
  %0 = shoal.transpose %a permutation = [1, 0] : tensor<8x6xf32> -> tensor<6x8xf32>
  return
}

func.func @dynamic_slices(%x: tensor<8x6xf32>, %i: tensor<i32>, %u: tensor<2x6xf32>, %b: tensor<8xi1>) {
  // expected-remark @below {{([i, k], [], []) -> ([j, k]) i=8 j=2 k=6, reduces i:sum, linear in (0)}}
  %0 = shoal.dynamic_slice %x [%i, %i] sizes = [2, 6] : (tensor<8x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x6xf32>
  // There are no sums of i1.
  // expected-remark @below {{([i], []) -> ([j]) i=8 j=2, reduces i:or}}
  %1 = shoal.dynamic_slice %b [%i] sizes = [2] : (tensor<8xi1>, tensor<i32>) -> tensor<2xi1>
  // expected-remark @below {{([i, k], [j, k], [], []) -> ([i, k]) i=8 j=2 k=6, needs whole j, linear in (0, 1), writes operand 1}}
  %2 = shoal.dynamic_update_slice %x, %u [%i, %i] : (tensor<8x6xf32>, tensor<2x6xf32>, tensor<i32>, tensor<i32>) -> tensor<8x6xf32>
  return
}

func.func @gather(%table: tensor<100x16xf32>, %ids: tensor<4x5xi32>, %x: tensor<4x9xf32>, %p: tensor<4x2x1xi32>) {
  // expected-remark @below {{([k, l], [i, j]) -> ([i, j, l]) i=4 j=5 k=100 l=16, reduces k:sum, linear in (0)}}
  %0 = shoal.gather %table, %ids offset_dims = [2] collapsed_slice_dims = [0] start_index_map = [0] index_vector_dim = 2
      slice_sizes = [1, 16] : (tensor<100x16xf32>, tensor<4x5xi32>) -> tensor<4x5x16xf32>
  // A batching dimension, windows of 3 of 9, an index of one element.
  // expected-remark @below {{([i, l], [i, j, k]) -> ([i, j, m]) i=4 j=2 k=1 l=9 m=3, reduces l:sum, needs whole k, linear in (0)}}
  %1 = shoal.gather %x, %p offset_dims = [2] collapsed_slice_dims = [] operand_batching_dims = [0] start_indices_batching_dims = [0]
      start_index_map = [1] index_vector_dim = 2 slice_sizes = [1, 3] : (tensor<4x9xf32>, tensor<4x2x1xi32>) -> tensor<4x2x3xf32>
  return
}

func.func @scatter(%table: tensor<100x16xf32>, %ids: tensor<4x5xi32>, %u: tensor<4x5x16xf32>,
                   %x: tensor<4x9xf32>, %p: tensor<4x2x1xi32>, %w: tensor<4x2x3xf32>) {
  // Linear in the updates alone, too: the operand counts once.
  // expected-remark @below {{([k, l], [i, j], [i, j, l]) -> ([k, l]) i=4 j=5 k=100 l=16, reduces i:sum j:sum, linear in (0, 2) (2)}}
  %0 = shoal.scatter sum %table, %ids, %u update_window_dims = [2] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0]
      index_vector_dim = 2 : (tensor<100x16xf32>, tensor<4x5xi32>, tensor<4x5x16xf32>) -> tensor<100x16xf32>
  // expected-remark @below {{([k, l], [i, j], [i, j, l]) -> ([k, l]) i=4 j=5 k=100 l=16, reduces i:max j:max}}
  %1 = shoal.scatter max %table, %ids, %u update_window_dims = [2] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0]
      index_vector_dim = 2 : (tensor<100x16xf32>, tensor<4x5xi32>, tensor<4x5x16xf32>) -> tensor<100x16xf32>
  // The last update stays: no device could tell from its part which that is.
  // expected-remark @below {{([i, l], [i, j, k], [i, j, m]) -> ([i, l]) i=4 j=2 k=1 l=9 m=3, needs whole j k m, linear in (0, 2)}}
  %2 = shoal.scatter overwrite %x, %p, %w update_window_dims = [2] inserted_window_dims = [] input_batching_dims = [0]
      scatter_indices_batching_dims = [0] scatter_dims_to_operand_dims = [1] index_vector_dim = 2
      : (tensor<4x9xf32>, tensor<4x2x1xi32>, tensor<4x2x3xf32>) -> tensor<4x9xf32>
  return
}
