// RUN: shoal-opt %s -split-input-file -verify-diagnostics

// -----

// gather (C1)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{collapsed_slice_dims[1]: 2 is not a dimension of a tensor of rank 2}}
  %0 = shoal.gather %x, %i offset_dims = [] collapsed_slice_dims = [0, 2]  start_index_map = [0, 1] index_vector_dim = 1 slice_sizes = [1, 1] : (tensor<5x6xf32>, tensor<3x2xi32>) -> tensor<3xf32>
  return
}

// -----

// gather (C1)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{collapsed_slice_dims: expected ascending order but got [1, 0]}}
  %0 = shoal.gather %x, %i offset_dims = [] collapsed_slice_dims = [1, 0]  start_index_map = [0, 1] index_vector_dim = 1 slice_sizes = [1, 1] : (tensor<5x6xf32>, tensor<3x2xi32>) -> tensor<3xf32>
  return
}

// -----

// gather (C1)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{dimension 1 stands both in collapsed_slice_dims and in operand_batching_dims}}
  %0 = shoal.gather %x, %i offset_dims = [] collapsed_slice_dims = [0, 1] operand_batching_dims = [1] start_indices_batching_dims = [0] start_index_map = [0, 1] index_vector_dim = 1 slice_sizes = [1, 1] : (tensor<5x6xf32>, tensor<3x2xi32>) -> tensor<3xf32>
  return
}

// -----

// gather (C1)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{operand_batching_dims[0]: 7 is not a dimension of a tensor of rank 2}}
  %0 = shoal.gather %x, %i offset_dims = [] collapsed_slice_dims = [0] operand_batching_dims = [7] start_indices_batching_dims = [0] start_index_map = [0, 1] index_vector_dim = 1 slice_sizes = [1, 1] : (tensor<5x6xf32>, tensor<3x2xi32>) -> tensor<3xf32>
  return
}

// -----

// gather (C2)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{slice_sizes: expected an entry for each of 2 dimensions but got 1}}
  %0 = shoal.gather %x, %i offset_dims = [] collapsed_slice_dims = [0, 1]  start_index_map = [0, 1] index_vector_dim = 1 slice_sizes = [1] : (tensor<5x6xf32>, tensor<3x2xi32>) -> tensor<3xf32>
  return
}

// -----

// gather (C2)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{slice_sizes[1]: expected 0 to 6, the operand's size, but got 7}}
  %0 = shoal.gather %x, %i offset_dims = [] collapsed_slice_dims = [0, 1]  start_index_map = [0, 1] index_vector_dim = 1 slice_sizes = [1, 7] : (tensor<5x6xf32>, tensor<3x2xi32>) -> tensor<3xf32>
  return
}

// -----

// gather (C2)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{slice_sizes[1]: expected 1, the dimension being collapsed or a batching one, but got 2}}
  %0 = shoal.gather %x, %i offset_dims = [] collapsed_slice_dims = [0, 1]  start_index_map = [0, 1] index_vector_dim = 1 slice_sizes = [1, 2] : (tensor<5x6xf32>, tensor<3x2xi32>) -> tensor<3xf32>
  return
}

// -----

// gather (C3)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{offset_dims: expected an entry for each of 1 operand dimensions that are in neither collapsed_slice_dims nor operand_batching_dims, but got 0}}
  %0 = shoal.gather %x, %i offset_dims = [] collapsed_slice_dims = [0]  start_index_map = [0, 1] index_vector_dim = 1 slice_sizes = [1, 4] : (tensor<5x6xf32>, tensor<3x2xi32>) -> tensor<3xf32>
  return
}

// -----

// gather (C3)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{offset_dims[0]: 4 is not a dimension of a tensor of rank 2}}
  %0 = shoal.gather %x, %i offset_dims = [4] collapsed_slice_dims = [0]  start_index_map = [0, 1] index_vector_dim = 1 slice_sizes = [1, 4] : (tensor<5x6xf32>, tensor<3x2xi32>) -> tensor<3x4xf32>
  return
}

// -----

// gather (C4)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{index_vector_dim: expected 0 to 2, the rank of the indices, but got 3}}
  %0 = shoal.gather %x, %i offset_dims = [] collapsed_slice_dims = [0, 1]  start_index_map = [0, 1] index_vector_dim = 3 slice_sizes = [1, 1] : (tensor<5x6xf32>, tensor<3x2xi32>) -> tensor<3xf32>
  return
}

// -----

// gather (C4)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{index_vector_dim: expected 0 to 2, the rank of the indices, but got -1}}
  %0 = shoal.gather %x, %i offset_dims = [] collapsed_slice_dims = [0, 1]  start_index_map = [0, 1] index_vector_dim = -1 slice_sizes = [1, 1] : (tensor<5x6xf32>, tensor<3x2xi32>) -> tensor<3xf32>
  return
}

// -----

// gather (C5)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{start_index_map: expected an entry for each of 2 elements of an index but got 1}}
  %0 = shoal.gather %x, %i offset_dims = [] collapsed_slice_dims = [0, 1]  start_index_map = [0] index_vector_dim = 1 slice_sizes = [1, 1] : (tensor<5x6xf32>, tensor<3x2xi32>) -> tensor<3xf32>
  return
}

// -----

// gather (C5)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{start_index_map: dimension 0 occurs twice}}
  %0 = shoal.gather %x, %i offset_dims = [] collapsed_slice_dims = [0, 1]  start_index_map = [0, 0] index_vector_dim = 1 slice_sizes = [1, 1] : (tensor<5x6xf32>, tensor<3x2xi32>) -> tensor<3xf32>
  return
}

// -----

// gather (C5)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{start_index_map[1]: 5 is not a dimension of a tensor of rank 2}}
  %0 = shoal.gather %x, %i offset_dims = [] collapsed_slice_dims = [0, 1]  start_index_map = [0, 5] index_vector_dim = 1 slice_sizes = [1, 1] : (tensor<5x6xf32>, tensor<3x2xi32>) -> tensor<3xf32>
  return
}

// -----

// gather (C5)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{dimension 0 stands both in start_index_map and in operand_batching_dims}}
  %0 = shoal.gather %x, %b offset_dims = [] collapsed_slice_dims = [1] operand_batching_dims = [0] start_indices_batching_dims = [0] start_index_map = [0] index_vector_dim = 1 slice_sizes = [1, 1] : (tensor<5x6xf32>, tensor<5xi32>) -> tensor<5xf32>
  return
}

// -----

// gather (C6)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{start_indices_batching_dims: expected an entry for each of 1 dimensions of operand_batching_dims but got 0}}
  %0 = shoal.gather %x, %b offset_dims = [] collapsed_slice_dims = [1] operand_batching_dims = [0] start_index_map = [1] index_vector_dim = 1 slice_sizes = [1, 1] : (tensor<5x6xf32>, tensor<5xi32>) -> tensor<5xf32>
  return
}

// -----

// gather (C6)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{operand 1 dim 0: expected size 6, that of operand 0 dim 1, but got 5}}
  %0 = shoal.gather %x, %b offset_dims = [] collapsed_slice_dims = [0] operand_batching_dims = [1] start_indices_batching_dims = [0] start_index_map = [0] index_vector_dim = 1 slice_sizes = [1, 1] : (tensor<5x6xf32>, tensor<5xi32>) -> tensor<5xf32>
  return
}

// -----

// gather (C7)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{result 0: expected rank 1 but got 2}}
  %0 = shoal.gather %x, %i offset_dims = [] collapsed_slice_dims = [0, 1]  start_index_map = [0, 1] index_vector_dim = 1 slice_sizes = [1, 1] : (tensor<5x6xf32>, tensor<3x2xi32>) -> tensor<3x1xf32>
  return
}

// -----

// gather (C7)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{result 0 dim 0: expected size 3 but got 4}}
  %0 = shoal.gather %x, %i offset_dims = [] collapsed_slice_dims = [0, 1]  start_index_map = [0, 1] index_vector_dim = 1 slice_sizes = [1, 1] : (tensor<5x6xf32>, tensor<3x2xi32>) -> tensor<4xf32>
  return
}

// -----

// gather (C7)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{result 0 dim 1: expected size 4 but got 5}}
  %0 = shoal.gather %x, %i offset_dims = [1] collapsed_slice_dims = [0]  start_index_map = [0, 1] index_vector_dim = 1 slice_sizes = [1, 4] : (tensor<5x6xf32>, tensor<3x2xi32>) -> tensor<3x5xf32>
  return
}

// -----

// gather (C7)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{result 0: expected elements of type 'f32' but got 'f64'}}
  %0 = shoal.gather %x, %i offset_dims = [] collapsed_slice_dims = [0, 1]  start_index_map = [0, 1] index_vector_dim = 1 slice_sizes = [1, 1] : (tensor<5x6xf32>, tensor<3x2xi32>) -> tensor<3xf64>
  return
}

// -----

// scatter (C1)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{inserted_window_dims[1]: 2 is not a dimension of a tensor of rank 2}}
  %0 = shoal.scatter sum %x, %i, %u update_window_dims = [] inserted_window_dims = [0, 2]  scatter_dims_to_operand_dims = [0, 1] index_vector_dim = 1 : (tensor<5x6xf32>, tensor<3x2xi32>, tensor<3xf32>) -> tensor<5x6xf32>
  return
}

// -----

// scatter (C1)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{inserted_window_dims: expected ascending order but got [1, 0]}}
  %0 = shoal.scatter sum %x, %i, %u update_window_dims = [] inserted_window_dims = [1, 0]  scatter_dims_to_operand_dims = [0, 1] index_vector_dim = 1 : (tensor<5x6xf32>, tensor<3x2xi32>, tensor<3xf32>) -> tensor<5x6xf32>
  return
}

// -----

// scatter (C1)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{dimension 1 stands both in inserted_window_dims and in input_batching_dims}}
  %0 = shoal.scatter sum %x, %i, %u update_window_dims = [] inserted_window_dims = [0, 1] input_batching_dims = [1] scatter_indices_batching_dims = [0] scatter_dims_to_operand_dims = [0, 1] index_vector_dim = 1 : (tensor<5x6xf32>, tensor<3x2xi32>, tensor<3xf32>) -> tensor<5x6xf32>
  return
}

// -----

// scatter (C2)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{update_window_dims: expected an entry for each of 1 operand dimensions that are in neither inserted_window_dims nor input_batching_dims, but got 0}}
  %0 = shoal.scatter sum %x, %i, %u update_window_dims = [] inserted_window_dims = [0]  scatter_dims_to_operand_dims = [0, 1] index_vector_dim = 1 : (tensor<5x6xf32>, tensor<3x2xi32>, tensor<3xf32>) -> tensor<5x6xf32>
  return
}

// -----

// scatter (C2)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{update_window_dims[0]: 3 is not a dimension of a tensor of rank 1}}
  %0 = shoal.scatter sum %x, %i, %u update_window_dims = [3] inserted_window_dims = [0]  scatter_dims_to_operand_dims = [0, 1] index_vector_dim = 1 : (tensor<5x6xf32>, tensor<3x2xi32>, tensor<3xf32>) -> tensor<5x6xf32>
  return
}

// -----

// scatter (C3)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{index_vector_dim: expected 0 to 2, the rank of the indices, but got 3}}
  %0 = shoal.scatter sum %x, %i, %u update_window_dims = [] inserted_window_dims = [0, 1]  scatter_dims_to_operand_dims = [0, 1] index_vector_dim = 3 : (tensor<5x6xf32>, tensor<3x2xi32>, tensor<3xf32>) -> tensor<5x6xf32>
  return
}

// -----

// scatter (C4)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{scatter_dims_to_operand_dims: expected an entry for each of 2 elements of an index but got 1}}
  %0 = shoal.scatter sum %x, %i, %u update_window_dims = [] inserted_window_dims = [0, 1]  scatter_dims_to_operand_dims = [0] index_vector_dim = 1 : (tensor<5x6xf32>, tensor<3x2xi32>, tensor<3xf32>) -> tensor<5x6xf32>
  return
}

// -----

// scatter (C4)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{scatter_dims_to_operand_dims: dimension 0 occurs twice}}
  %0 = shoal.scatter sum %x, %i, %u update_window_dims = [] inserted_window_dims = [0, 1]  scatter_dims_to_operand_dims = [0, 0] index_vector_dim = 1 : (tensor<5x6xf32>, tensor<3x2xi32>, tensor<3xf32>) -> tensor<5x6xf32>
  return
}

// -----

// scatter (C4)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{dimension 0 stands both in scatter_dims_to_operand_dims and in input_batching_dims}}
  %0 = shoal.scatter sum %x, %b, %v update_window_dims = [] inserted_window_dims = [1] input_batching_dims = [0] scatter_indices_batching_dims = [0] scatter_dims_to_operand_dims = [0] index_vector_dim = 1 : (tensor<5x6xf32>, tensor<5xi32>, tensor<5xf32>) -> tensor<5x6xf32>
  return
}

// -----

// scatter (C5)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{scatter_indices_batching_dims: expected an entry for each of 1 dimensions of input_batching_dims but got 0}}
  %0 = shoal.scatter sum %x, %b, %v update_window_dims = [] inserted_window_dims = [1] input_batching_dims = [0] scatter_dims_to_operand_dims = [1] index_vector_dim = 1 : (tensor<5x6xf32>, tensor<5xi32>, tensor<5xf32>) -> tensor<5x6xf32>
  return
}

// -----

// scatter (C5)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{operand 1 dim 0: expected size 6, that of operand 0 dim 1, but got 5}}
  %0 = shoal.scatter sum %x, %b, %v update_window_dims = [] inserted_window_dims = [0] input_batching_dims = [1] scatter_indices_batching_dims = [0] scatter_dims_to_operand_dims = [0] index_vector_dim = 1 : (tensor<5x6xf32>, tensor<5xi32>, tensor<5xf32>) -> tensor<5x6xf32>
  return
}

// -----

// scatter (C6)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{operand 2: expected rank 1 but got 2}}
  %0 = shoal.scatter sum %x, %i, %w update_window_dims = [] inserted_window_dims = [0, 1]  scatter_dims_to_operand_dims = [0, 1] index_vector_dim = 1 : (tensor<5x6xf32>, tensor<3x2xi32>, tensor<3x4xf32>) -> tensor<5x6xf32>
  return
}

// -----

// scatter (C6)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{operand 2 dim 0: expected size 3 but got 5}}
  %0 = shoal.scatter sum %x, %i, %v update_window_dims = [] inserted_window_dims = [0, 1]  scatter_dims_to_operand_dims = [0, 1] index_vector_dim = 1 : (tensor<5x6xf32>, tensor<3x2xi32>, tensor<5xf32>) -> tensor<5x6xf32>
  return
}

// -----

// scatter (C7)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{result 0 dim 0: expected size 5 but got 4}}
  %0 = shoal.scatter sum %x, %i, %u update_window_dims = [] inserted_window_dims = [0, 1]  scatter_dims_to_operand_dims = [0, 1] index_vector_dim = 1 : (tensor<5x6xf32>, tensor<3x2xi32>, tensor<3xf32>) -> tensor<4x6xf32>
  return
}

// -----

// scatter (C8)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<3x2xi32>, %u: tensor<3xf32>, %w: tensor<3x4xf32>, %b: tensor<5xi32>, %v: tensor<5xf32>) {
  // expected-error @below {{or: expected integers but got 'f32'}}
  %0 = shoal.scatter or %x, %i, %u update_window_dims = [] inserted_window_dims = [0, 1]  scatter_dims_to_operand_dims = [0, 1] index_vector_dim = 1 : (tensor<5x6xf32>, tensor<3x2xi32>, tensor<3xf32>) -> tensor<5x6xf32>
  return
}

// -----

// gather (C6)
func.func @f(%x: tensor<5x1xf32>, %i: tensor<3x1xi32>) {
  // expected-error @below {{start_indices_batching_dims: dimension 1 is index_vector_dim}}
  %0 = shoal.gather %x, %i offset_dims = [] collapsed_slice_dims = [0] operand_batching_dims = [1] start_indices_batching_dims = [1] start_index_map = [0] index_vector_dim = 1 slice_sizes = [1, 1] : (tensor<5x1xf32>, tensor<3x1xi32>) -> tensor<3xf32>
  return
}

// -----

// scatter (C8)
func.func @f(%x: tensor<5xi1>, %i: tensor<3xi32>, %u: tensor<3xi1>) {
  // expected-error @below {{sum: expected numbers but got i1; for booleans there are and and or}}
  %0 = shoal.scatter sum %x, %i, %u update_window_dims = [] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0] index_vector_dim = 1 : (tensor<5xi1>, tensor<3xi32>, tensor<3xi1>) -> tensor<5xi1>
  return
}
