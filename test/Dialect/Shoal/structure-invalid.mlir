// RUN: shoal-opt %s -split-input-file -verify-diagnostics

// The laws of the ops that move elements, by op in alphabetical order.

// (C1)
func.func @broadcast_in_dim_entry_per_dimension(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{dims: expected an entry for each of 2 dimensions but got 1}}
  %0 = shoal.broadcast_in_dim %x dims = [0] : tensor<8x4xf32> -> tensor<8x4xf32>
  return
}

// -----

// (C1)
func.func @broadcast_in_dim_out_of_range(%x: tensor<8xf32>) {
  // expected-error@+1 {{dims[0]: 2 is not a dimension of a tensor of rank 2}}
  %0 = shoal.broadcast_in_dim %x dims = [2] : tensor<8xf32> -> tensor<8x4xf32>
  return
}

// -----

// (C1)
func.func @broadcast_in_dim_twice(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{dims: dimension 0 occurs twice}}
  %0 = shoal.broadcast_in_dim %x dims = [0, 0] : tensor<8x8xf32> -> tensor<8x4xf32>
  return
}

// -----

// (C2)
func.func @broadcast_in_dim_size(%x: tensor<2xf32>) {
  // expected-error@+1 {{operand 0 dim 0: expected size 1 or that of result dim 1, 4, but got 2}}
  %0 = shoal.broadcast_in_dim %x dims = [1] : tensor<2xf32> -> tensor<8x4xf32>
  return
}

// -----

// (C3)
func.func @broadcast_in_dim_type(%x: tensor<8xf32>) {
  // expected-error@+1 {{result 0: expected elements of type 'f32' but got 'f64'}}
  %0 = shoal.broadcast_in_dim %x dims = [0] : tensor<8xf32> -> tensor<8xf64>
  return
}

// -----

// (C1)
func.func @concatenate_of_nothing() {
  // expected-error@+1 {{expected at least one operand}}
  %0 = shoal.concatenate dim = 0 : () -> tensor<0xf32>
  return
}

// -----

// (C1)
func.func @concatenate_dim(%x: tensor<8xf32>) {
  // expected-error@+1 {{dim: 1 is not a dimension of a tensor of rank 1}}
  %0 = shoal.concatenate %x, %x dim = 1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  return
}

// -----

// (C2)
func.func @concatenate_other_dimension(%x: tensor<2x4xf32>, %y: tensor<3x5xf32>) {
  // expected-error@+1 {{operand 1 dim 1: expected size 4 but got 5}}
  %0 = shoal.concatenate %x, %y dim = 0 : (tensor<2x4xf32>, tensor<3x5xf32>) -> tensor<5x4xf32>
  return
}

// -----

// (C2)
func.func @concatenate_rank(%x: tensor<2x4xf32>, %y: tensor<3xf32>) {
  // expected-error@+1 {{operand 1: expected rank 2 but got 1}}
  %0 = shoal.concatenate %x, %y dim = 0 : (tensor<2x4xf32>, tensor<3xf32>) -> tensor<5x4xf32>
  return
}

// -----

// (C2)
func.func @concatenate_sum(%x: tensor<2x4xf32>, %y: tensor<3x4xf32>) {
  // expected-error@+1 {{result 0 dim 0: expected size 5 but got 6}}
  %0 = shoal.concatenate %x, %y dim = 0 : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<6x4xf32>
  return
}

// -----

// (C1)
func.func @iota_dim() {
  // expected-error@+1 {{dim: 2 is not a dimension of a tensor of rank 2}}
  %0 = shoal.iota dim = 2 : tensor<2x3xi32>
  return
}

// -----

// (C1)
func.func @pad_entry_per_dimension(%x: tensor<3x4xf32>, %zero: tensor<f32>) {
  // expected-error@+1 {{high: expected an entry for each of 2 dimensions but got 3}}
  %0 = shoal.pad %x, %zero low = [0, 0] high = [0, 0, 0] interior = [0, 0] : tensor<3x4xf32>, tensor<f32> -> tensor<3x4xf32>
  return
}

// -----

// (C1)
func.func @pad_negative_interior(%x: tensor<3x4xf32>, %zero: tensor<f32>) {
  // expected-error@+1 {{interior[1]: expected at least 0 but got -1}}
  %0 = shoal.pad %x, %zero low = [0, 0] high = [0, 0] interior = [0, -1] : tensor<3x4xf32>, tensor<f32> -> tensor<3x1xf32>
  return
}

// -----

// (C2)
func.func @pad_takes_too_much(%x: tensor<3x4xf32>, %zero: tensor<f32>) {
  // expected-error@+1 {{result 0 dim 1: padding takes away 2 rows more than there are}}
  %0 = shoal.pad %x, %zero low = [0, -3] high = [0, -3] interior = [0, 0] : tensor<3x4xf32>, tensor<f32> -> tensor<3x0xf32>
  return
}

// -----

// (C1)
func.func @reverse_dims(%x: tensor<3x4xf32>) {
  // expected-error@+1 {{dims: expected ascending order but got [1, 0]}}
  %0 = shoal.reverse %x dims = [1, 0] : tensor<3x4xf32>
  return
}

// -----

// (C1)
func.func @reverse_dim_range(%x: tensor<3x4xf32>) {
  // expected-error@+1 {{dims[0]: 2 is not a dimension of a tensor of rank 2}}
  %0 = shoal.reverse %x dims = [2] : tensor<3x4xf32>
  return
}

// -----

// (C1)
func.func @roll_dim(%x: tensor<3x4xf32>) {
  // expected-error@+1 {{dim: 2 is not a dimension of a tensor of rank 2}}
  %0 = shoal.roll %x dim = 2 shift = 1 : tensor<3x4xf32>
  return
}

// -----

// (C2)
func.func @roll_shift(%x: tensor<3x4xf32>) {
  // expected-error@+1 {{shift: expected 0 to 2 for 3 rows of dim 0 but got 3}}
  %0 = shoal.roll %x dim = 0 shift = 3 : tensor<3x4xf32>
  return
}

// -----

// (C2)
func.func @pad_size(%x: tensor<3x4xf32>, %zero: tensor<f32>) {
  // expected-error@+1 {{result 0 dim 1: expected size 13 but got 10}}
  %0 = shoal.pad %x, %zero low = [0, 1] high = [0, 2] interior = [0, 2] : tensor<3x4xf32>, tensor<f32> -> tensor<3x10xf32>
  return
}

// -----

// (C2)
func.func @pad_overflow(%x: tensor<3xf32>, %zero: tensor<f32>) {
  // expected-error@+1 {{result 0 dim 0: the padded size is beyond 64 bits}}
  %0 = shoal.pad %x, %zero low = [0] high = [0] interior = [9223372036854775807] : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  return
}

// -----

// (C3)
func.func @pad_value_is_a_scalar(%x: tensor<3xf32>, %zero: tensor<1xf32>) {
  // expected-error@+1 {{operand 1: expected rank 0 but got 1}}
  %0 = shoal.pad %x, %zero low = [1] high = [0] interior = [0] : tensor<3xf32>, tensor<1xf32> -> tensor<4xf32>
  return
}

// -----

// (C3)
func.func @pad_value_type(%x: tensor<3xf32>, %zero: tensor<i32>) {
  // expected-error@+1 {{operand 1: expected elements of type 'f32' but got 'i32'}}
  %0 = shoal.pad %x, %zero low = [1] high = [0] interior = [0] : tensor<3xf32>, tensor<i32> -> tensor<4xf32>
  return
}

// -----

// (C1)
func.func @slice_entry_per_dimension(%x: tensor<5x6xf32>) {
  // expected-error@+1 {{strides: expected an entry for each of 2 dimensions but got 0}}
  %0 = shoal.slice %x starts = [1, 0] limits = [4, 6] strides = [] : tensor<5x6xf32> -> tensor<3x6xf32>
  return
}

// -----

// (C1)
func.func @slice_past_the_end(%x: tensor<5x6xf32>) {
  // expected-error@+1 {{operand 0 dim 1: rows 0 to 7 are not a range within its size 6}}
  %0 = shoal.slice %x starts = [1, 0] limits = [4, 7] strides = [1, 1] : tensor<5x6xf32> -> tensor<3x7xf32>
  return
}

// -----

// (C1)
func.func @slice_backwards(%x: tensor<5xf32>) {
  // expected-error@+1 {{operand 0 dim 0: rows 3 to 2 are not a range within its size 5}}
  %0 = shoal.slice %x starts = [3] limits = [2] strides = [1] : tensor<5xf32> -> tensor<0xf32>
  return
}

// -----

// (C1)
func.func @slice_stride(%x: tensor<5xf32>) {
  // expected-error@+1 {{strides[0]: expected at least 1 but got 0}}
  %0 = shoal.slice %x starts = [0] limits = [5] strides = [0] : tensor<5xf32> -> tensor<5xf32>
  return
}

// -----

// (C2)
func.func @slice_size(%x: tensor<5xf32>) {
  // expected-error@+1 {{result 0 dim 0: expected size 3 but got 2}}
  %0 = shoal.slice %x starts = [0] limits = [5] strides = [2] : tensor<5xf32> -> tensor<2xf32>
  return
}

// -----

// (C1)
func.func @transpose_of_a_dimension_twice(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{permutation: dimension 1 occurs twice}}
  %0 = shoal.transpose %x permutation = [1, 1] : tensor<2x3xf32> -> tensor<3x3xf32>
  return
}

// -----

// (C1)
func.func @transpose_of_a_negative_dimension(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{permutation[1]: -1 is not a dimension of a tensor of rank 2}}
  %0 = shoal.transpose %x permutation = [1, -1] : tensor<2x3xf32> -> tensor<3x2xf32>
  return
}

// -----

// (C2)
func.func @transpose_shape(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{result 0 dim 0: expected size 3 but got 2}}
  %0 = shoal.transpose %x permutation = [1, 0] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}
