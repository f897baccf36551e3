// RUN: shoal-opt %s -split-input-file -verify-diagnostics

// The laws of the ops with windows, by op and law.

// (C1)
func.func @convolution_form(%x: tensor<2x9x9x4xf32>, %k: tensor<3x3x4x8xf32>) {
  // expected-error@+1 {{spec "b01f->b01f": expected the form "input,kernel->result"}}
  %0 = shoal.convolution "b01f->b01f" %x, %k : tensor<2x9x9x4xf32>, tensor<3x3x4x8xf32> -> tensor<2x7x7x8xf32>
  return
}

// -----

// (C1)
func.func @convolution_four_spatial_dims(%x: tensor<2x9x9x4xf32>, %k: tensor<3x3x4x8xf32>) {
  // expected-error@+1 {{expected 3 to 5 dimensions in "b0123f"}}
  %0 = shoal.convolution "b0123f,01io->b01f" %x, %k : tensor<2x9x9x4xf32>, tensor<3x3x4x8xf32> -> tensor<2x7x7x8xf32>
  return
}

// -----

// (C1)
func.func @convolution_letter_twice(%x: tensor<2x9x9x4xf32>, %k: tensor<3x3x4x8xf32>) {
  // expected-error@+1 {{expected 'f' once in "f01f"}}
  %0 = shoal.convolution "f01f,01io->b01f" %x, %k : tensor<2x9x9x4xf32>, tensor<3x3x4x8xf32> -> tensor<2x7x7x8xf32>
  return
}

// -----

// (C1)
func.func @convolution_digits_from_zero(%x: tensor<2x9x9x4xf32>, %k: tensor<3x3x4x8xf32>) {
  // expected-error@+1 {{expected '0' once in "b12f"}}
  %0 = shoal.convolution "b12f,01io->b01f" %x, %k : tensor<2x9x9x4xf32>, tensor<3x3x4x8xf32> -> tensor<2x7x7x8xf32>
  return
}

// -----

// (C1)
func.func @convolution_digits_differ(%x: tensor<2x9x9x4xf32>, %k: tensor<3x3x4x8xf32>) {
  // expected-error@+1 {{expected equally many dimensions in all tensors}}
  %0 = shoal.convolution "b01f,0io->b01f" %x, %k : tensor<2x9x9x4xf32>, tensor<3x3x4x8xf32> -> tensor<2x7x7x8xf32>
  return
}

// -----

// (C2)
func.func @convolution_rank(%x: tensor<2x9x9x4xf32>, %k: tensor<3x4x8xf32>) {
  // expected-error@+1 {{operand 1: rank 3 but 4 dimensions in "b01f,01io->b01f"}}
  %0 = shoal.convolution "b01f,01io->b01f" %x, %k : tensor<2x9x9x4xf32>, tensor<3x4x8xf32> -> tensor<2x7x7x8xf32>
  return
}

// -----

// (C2)
func.func @convolution_rank_of_result(%x: tensor<2x9x9x4xf32>, %k: tensor<3x3x4x8xf32>) {
  // expected-error@+1 {{result 0: rank 3 but 4 dimensions}}
  %0 = shoal.convolution "b01f,01io->b01f" %x, %k : tensor<2x9x9x4xf32>, tensor<3x3x4x8xf32> -> tensor<2x7x8xf32>
  return
}

// -----

// (C3)
func.func @convolution_entry_per_dim(%x: tensor<2x9x9x4xf32>, %k: tensor<3x3x4x8xf32>) {
  // expected-error@+1 {{strides: expected an entry for each of 2 dimensions but got 1}}
  %0 = shoal.convolution "b01f,01io->b01f" %x, %k strides = [1] : tensor<2x9x9x4xf32>, tensor<3x3x4x8xf32> -> tensor<2x7x7x8xf32>
  return
}

// -----

// (C3)
func.func @convolution_reversal_entries(%x: tensor<2x9x9x4xf32>, %k: tensor<3x3x4x8xf32>) {
  // expected-error@+1 {{reversal: expected an entry for each of 2 dimensions but got 3}}
  %0 = shoal.convolution "b01f,01io->b01f" %x, %k reversal = [true, true, true] : tensor<2x9x9x4xf32>, tensor<3x3x4x8xf32> -> tensor<2x7x7x8xf32>
  return
}

// -----

// (C3)
func.func @convolution_stride_zero(%x: tensor<2x9x9x4xf32>, %k: tensor<3x3x4x8xf32>) {
  // expected-error@+1 {{strides[1]: expected 1 to 2147483648 but got 0}}
  %0 = shoal.convolution "b01f,01io->b01f" %x, %k strides = [1, 0] : tensor<2x9x9x4xf32>, tensor<3x3x4x8xf32> -> tensor<2x7x7x8xf32>
  return
}

// -----

// (C3)
func.func @convolution_dilation_negative(%x: tensor<2x9x9x4xf32>, %k: tensor<3x3x4x8xf32>) {
  // expected-error@+1 {{base_dilation[0]: expected 1 to 2147483648 but got -1}}
  %0 = shoal.convolution "b01f,01io->b01f" %x, %k base_dilation = [-1, 1] : tensor<2x9x9x4xf32>, tensor<3x3x4x8xf32> -> tensor<2x7x7x8xf32>
  return
}

// -----

// (C3)
func.func @convolution_window_dilation_zero(%x: tensor<2x9x9x4xf32>, %k: tensor<3x3x4x8xf32>) {
  // expected-error@+1 {{window_dilation[0]: expected 1 to 2147483648 but got 0}}
  %0 = shoal.convolution "b01f,01io->b01f" %x, %k window_dilation = [0, 1] : tensor<2x9x9x4xf32>, tensor<3x3x4x8xf32> -> tensor<2x7x7x8xf32>
  return
}

// -----

// (C3)
func.func @convolution_padding_too_large(%x: tensor<2x9x9x4xf32>, %k: tensor<3x3x4x8xf32>) {
  // expected-error@+1 {{high[0]: expected -2147483648 to 2147483648 but got 4294967296}}
  %0 = shoal.convolution "b01f,01io->b01f" %x, %k high = [4294967296, 0] : tensor<2x9x9x4xf32>, tensor<3x3x4x8xf32> -> tensor<2x7x7x8xf32>
  return
}

// -----

// (C3)
func.func @convolution_kernel_without_rows(%x: tensor<2x9x9x4xf32>, %k: tensor<0x3x4x8xf32>) {
  // expected-error@+1 {{operand 1 dim 0: expected 1 to 2147483648 rows but got 0}}
  %0 = shoal.convolution "b01f,01io->b01f" %x, %k : tensor<2x9x9x4xf32>, tensor<0x3x4x8xf32> -> tensor<2x7x7x8xf32>
  return
}

// -----

// (C3)
func.func @convolution_group_count(%x: tensor<2x9x9x4xf32>, %k: tensor<3x3x4x8xf32>) {
  // expected-error@+1 {{feature_group_count: expected 1 to 2147483648 but got 0}}
  %0 = shoal.convolution "b01f,01io->b01f" %x, %k {feature_group_count = 0} : tensor<2x9x9x4xf32>, tensor<3x3x4x8xf32> -> tensor<2x7x7x8xf32>
  return
}

// -----

// (C4)
func.func @convolution_features(%x: tensor<2x9x9x5xf32>, %k: tensor<3x3x4x8xf32>) {
  // expected-error@+1 {{operand 0 dim 3: expected 4 features, as operand 1 dim 2 has, for each of 1 groups but got 5}}
  %0 = shoal.convolution "b01f,01io->b01f" %x, %k : tensor<2x9x9x5xf32>, tensor<3x3x4x8xf32> -> tensor<2x7x7x8xf32>
  return
}

// -----

// (C4)
func.func @convolution_groups_of_features(%x: tensor<2x9x9x4xf32>, %k: tensor<3x3x4x8xf32>) {
  // expected-error@+1 {{operand 0 dim 3: expected 4 features, as operand 1 dim 2 has, for each of 2 groups but got 4}}
  %0 = shoal.convolution "b01f,01io->b01f" %x, %k {feature_group_count = 2} : tensor<2x9x9x4xf32>, tensor<3x3x4x8xf32> -> tensor<2x7x7x8xf32>
  return
}

// -----

// (C4)
func.func @convolution_groups_of_outputs(%x: tensor<2x9x9x4xf32>, %k: tensor<3x3x2x3xf32>) {
  // expected-error@+1 {{operand 1 dim 3: size 3 is not divisible by feature_group_count = 2}}
  %0 = shoal.convolution "b01f,01io->b01f" %x, %k {feature_group_count = 2} : tensor<2x9x9x4xf32>, tensor<3x3x2x3xf32> -> tensor<2x7x7x8xf32>
  return
}

// -----

// (C5)
func.func @convolution_groups_of_batch(%x: tensor<3x9x9x4xf32>, %k: tensor<3x3x4x8xf32>) {
  // expected-error@+1 {{operand 0 dim 0: size 3 is not divisible by batch_group_count = 2}}
  %0 = shoal.convolution "b01f,01io->b01f" %x, %k {batch_group_count = 2} : tensor<3x9x9x4xf32>, tensor<3x3x4x8xf32> -> tensor<2x7x7x8xf32>
  return
}

// -----

// (C5)
func.func @convolution_batch_groups_of_outputs(%x: tensor<2x9x9x4xf32>, %k: tensor<3x3x4x7xf32>) {
  // expected-error@+1 {{operand 1 dim 3: size 7 is not divisible by batch_group_count = 2}}
  %0 = shoal.convolution "b01f,01io->b01f" %x, %k {batch_group_count = 2} : tensor<2x9x9x4xf32>, tensor<3x3x4x7xf32> -> tensor<2x7x7x8xf32>
  return
}

// -----

// (C5)
func.func @convolution_two_groupings(%x: tensor<2x9x9x4xf32>, %k: tensor<3x3x2x8xf32>) {
  // expected-error@+1 {{feature_group_count = 2 and batch_group_count = 2: expected one of them to be 1}}
  %0 = shoal.convolution "b01f,01io->b01f" %x, %k {feature_group_count = 2, batch_group_count = 2} : tensor<2x9x9x4xf32>, tensor<3x3x2x8xf32> -> tensor<2x7x7x8xf32>
  return
}

// -----

// (C6)
func.func @convolution_batch(%x: tensor<2x9x9x4xf32>, %k: tensor<3x3x4x8xf32>) {
  // expected-error@+1 {{result 0 dim 0: expected size 2 but got 3}}
  %0 = shoal.convolution "b01f,01io->b01f" %x, %k : tensor<2x9x9x4xf32>, tensor<3x3x4x8xf32> -> tensor<3x7x7x8xf32>
  return
}

// -----

// (C6)
func.func @convolution_rows(%x: tensor<2x9x9x4xf32>, %k: tensor<3x3x4x8xf32>) {
  // expected-error@+1 {{result 0 dim 2: expected size 4 but got 7}}
  %0 = shoal.convolution "b01f,01io->b01f" %x, %k strides = [1, 2] : tensor<2x9x9x4xf32>, tensor<3x3x4x8xf32> -> tensor<2x7x7x8xf32>
  return
}

// -----

// (C6)
func.func @convolution_no_windows(%x: tensor<2x9x9x4xf32>, %k: tensor<3x3x4x8xf32>) {
  // expected-error@+1 {{result 0 dim 1: expected size 0 but got 1}}
  %0 = shoal.convolution "b01f,01io->b01f" %x, %k window_dilation = [5, 1] : tensor<2x9x9x4xf32>, tensor<3x3x4x8xf32> -> tensor<2x1x7x8xf32>
  return
}

// -----

// (C6)
func.func @convolution_beyond_2_56(%x: tensor<17179869184x1x1xf32>, %k: tensor<1x1x1xf32>) {
  // expected-error@+1 {{operand 0 dim 0: its padded size is beyond 2^56}}
  %0 = shoal.convolution "0bf,0io->0bf" %x, %k base_dilation = [2147483648] : tensor<17179869184x1x1xf32>, tensor<1x1x1xf32> -> tensor<1x1x1xf32>
  return
}

// -----

// (C7)
func.func @convolution_operand_types(%x: tensor<2x9x9x4xf32>, %k: tensor<3x3x4x8xf64>) {
  // expected-error@+1 {{operand 1: expected elements of type 'f32' but got 'f64'}}
  %0 = shoal.convolution "b01f,01io->b01f" %x, %k : tensor<2x9x9x4xf32>, tensor<3x3x4x8xf64> -> tensor<2x7x7x8xf32>
  return
}

// -----

// (C7)
func.func @convolution_booleans(%x: tensor<2x9x9x4xi1>, %k: tensor<3x3x4x8xi1>) {
  // expected-error@+1 {{operand 0: expected numbers but got i1}}
  %0 = shoal.convolution "b01f,01io->b01f" %x, %k : tensor<2x9x9x4xi1>, tensor<3x3x4x8xi1> -> tensor<2x7x7x8xi1>
  return
}

// -----

// (C7)
func.func @convolution_narrower(%x: tensor<2x9x9x4xf32>, %k: tensor<3x3x4x8xf32>) {
  // expected-error@+1 {{result 0: expected elements of type 'f32' or a wider one of its kind but got 'f16'}}
  %0 = shoal.convolution "b01f,01io->b01f" %x, %k : tensor<2x9x9x4xf32>, tensor<3x3x4x8xf32> -> tensor<2x7x7x8xf16>
  return
}

// -----

// (C1)
func.func @reduce_window_entries(%x: tensor<8x9xf32>, %i: tensor<f32>) {
  // expected-error@+1 {{window: expected an entry for each of 2 dimensions but got 1}}
  %0 = shoal.reduce_window sum %x, %i window = [3] : tensor<8x9xf32>, tensor<f32> -> tensor<8x7xf32>
  return
}

// -----

// (C1)
func.func @reduce_window_size_zero(%x: tensor<8x9xf32>, %i: tensor<f32>) {
  // expected-error@+1 {{window[0]: expected 1 to 2147483648 but got 0}}
  %0 = shoal.reduce_window sum %x, %i window = [0, 3] : tensor<8x9xf32>, tensor<f32> -> tensor<8x7xf32>
  return
}

// -----

// (C1)
func.func @reduce_window_stride_zero(%x: tensor<8x9xf32>, %i: tensor<f32>) {
  // expected-error@+1 {{strides[0]: expected 1 to 2147483648 but got 0}}
  %0 = shoal.reduce_window sum %x, %i window = [1, 3] strides = [0, 1] : tensor<8x9xf32>, tensor<f32> -> tensor<8x7xf32>
  return
}

// -----

// (C2)
func.func @reduce_window_init_scalar(%x: tensor<8x9xf32>, %i: tensor<1xf32>) {
  // expected-error@+1 {{operand 1: expected rank 0 but got 1}}
  %0 = shoal.reduce_window sum %x, %i window = [1, 3] : tensor<8x9xf32>, tensor<1xf32> -> tensor<8x7xf32>
  return
}

// -----

// (C2)
func.func @reduce_window_init_type(%x: tensor<8x9xf32>, %i: tensor<f64>) {
  // expected-error@+1 {{operand 1: expected elements of type 'f32' but got 'f64'}}
  %0 = shoal.reduce_window sum %x, %i window = [1, 3] : tensor<8x9xf32>, tensor<f64> -> tensor<8x7xf32>
  return
}

// -----

// (C3)
func.func @reduce_window_rows(%x: tensor<8x9xf32>, %i: tensor<f32>) {
  // expected-error@+1 {{result 0 dim 1: expected size 8 but got 7}}
  %0 = shoal.reduce_window sum %x, %i window = [1, 3] low = [0, 1] : tensor<8x9xf32>, tensor<f32> -> tensor<8x7xf32>
  return
}

// -----

// (C3)
func.func @reduce_window_element(%x: tensor<8x9xf32>, %i: tensor<f32>) {
  // expected-error@+1 {{result 0: expected elements of type 'f32' but got 'f64'}}
  %0 = shoal.reduce_window sum %x, %i window = [1, 3] : tensor<8x9xf32>, tensor<f32> -> tensor<8x7xf64>
  return
}

// -----

// (C4)
func.func @reduce_window_bitwise_floats(%x: tensor<8x9xf32>, %i: tensor<f32>) {
  // expected-error@+1 {{and: expected integers but got 'f32'}}
  %0 = shoal.reduce_window and %x, %i window = [1, 3] : tensor<8x9xf32>, tensor<f32> -> tensor<8x7xf32>
  return
}

// -----

// (C4)
func.func @reduce_window_sum_of_booleans(%x: tensor<8x9xi1>, %i: tensor<i1>) {
  // expected-error@+1 {{sum: expected numbers but got i1}}
  %0 = shoal.reduce_window sum %x, %i window = [1, 3] : tensor<8x9xi1>, tensor<i1> -> tensor<8x7xi1>
  return
}

// -----

// (C1)
func.func @select_and_scatter_entries(%x: tensor<8x9xf32>, %s: tensor<8x7xf32>, %i: tensor<f32>) {
  // expected-error@+1 {{low: expected an entry for each of 2 dimensions but got 1}}
  %0 = shoal.select_and_scatter max %x, %s, %i window = [1, 3] low = [1] : tensor<8x9xf32>, tensor<8x7xf32>, tensor<f32> -> tensor<8x9xf32>
  return
}

// -----

// (C1)
func.func @select_and_scatter_negative_padding(%x: tensor<8x9xf32>, %s: tensor<8x7xf32>, %i: tensor<f32>) {
  // expected-error@+1 {{high[1]: expected 0 to 2147483648 but got -1}}
  %0 = shoal.select_and_scatter max %x, %s, %i window = [1, 3] high = [0, -1] : tensor<8x9xf32>, tensor<8x7xf32>, tensor<f32> -> tensor<8x9xf32>
  return
}

// -----

// (C1)
func.func @select_and_scatter_places(%x: tensor<8x9xf32>, %s: tensor<8x7xf32>, %i: tensor<f32>) {
  // expected-error@+1 {{window: expected less than 2147483648 places}}
  %0 = shoal.select_and_scatter max %x, %s, %i window = [65536, 65536] : tensor<8x9xf32>, tensor<8x7xf32>, tensor<f32> -> tensor<8x9xf32>
  return
}

// -----

// (C2)
func.func @select_and_scatter_kind(%x: tensor<8x9xf32>, %s: tensor<8x7xf32>, %i: tensor<f32>) {
  // expected-error@+1 {{kind: expected max or min but got sum}}
  %0 = shoal.select_and_scatter sum %x, %s, %i window = [1, 3] : tensor<8x9xf32>, tensor<8x7xf32>, tensor<f32> -> tensor<8x9xf32>
  return
}

// -----

// (C3)
func.func @select_and_scatter_source(%x: tensor<8x9xf32>, %s: tensor<8x7xf32>, %i: tensor<f32>) {
  // expected-error@+1 {{operand 1 dim 1: expected size 4 but got 7}}
  %0 = shoal.select_and_scatter max %x, %s, %i window = [1, 3] strides = [1, 2] : tensor<8x9xf32>, tensor<8x7xf32>, tensor<f32> -> tensor<8x9xf32>
  return
}

// -----

// (C3)
func.func @select_and_scatter_source_type(%x: tensor<8x9xf32>, %s: tensor<8x7xf64>, %i: tensor<f32>) {
  // expected-error@+1 {{operand 1: expected elements of type 'f32' but got 'f64'}}
  %0 = shoal.select_and_scatter max %x, %s, %i window = [1, 3] : tensor<8x9xf32>, tensor<8x7xf64>, tensor<f32> -> tensor<8x9xf32>
  return
}

// -----

// (C3)
func.func @select_and_scatter_booleans(%x: tensor<8x9xi1>, %s: tensor<8x7xi1>, %i: tensor<i1>) {
  // expected-error@+1 {{operand 0: expected numbers but got i1}}
  %0 = shoal.select_and_scatter max %x, %s, %i window = [1, 3] : tensor<8x9xi1>, tensor<8x7xi1>, tensor<i1> -> tensor<8x9xi1>
  return
}

// -----

// (C4)
func.func @select_and_scatter_init(%x: tensor<8x9xf32>, %s: tensor<8x7xf32>, %i: tensor<1xf32>) {
  // expected-error@+1 {{operand 2: expected rank 0 but got 1}}
  %0 = shoal.select_and_scatter max %x, %s, %i window = [1, 3] : tensor<8x9xf32>, tensor<8x7xf32>, tensor<1xf32> -> tensor<8x9xf32>
  return
}

// -----

// (C4)
func.func @select_and_scatter_init_type(%x: tensor<8x9xf32>, %s: tensor<8x7xf32>, %i: tensor<f64>) {
  // expected-error@+1 {{operand 2: expected elements of type 'f32' but got 'f64'}}
  %0 = shoal.select_and_scatter max %x, %s, %i window = [1, 3] : tensor<8x9xf32>, tensor<8x7xf32>, tensor<f64> -> tensor<8x9xf32>
  return
}

// -----

// (C5)
func.func @select_and_scatter_result(%x: tensor<8x9xf32>, %s: tensor<8x7xf32>, %i: tensor<f32>) {
  // expected-error@+1 {{result 0 dim 0: expected size 8 but got 9}}
  %0 = shoal.select_and_scatter max %x, %s, %i window = [1, 3] : tensor<8x9xf32>, tensor<8x7xf32>, tensor<f32> -> tensor<9x9xf32>
  return
}
