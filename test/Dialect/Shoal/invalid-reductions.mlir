// RUN: shoal-opt %s -split-input-file -verify-diagnostics

// The laws of cumulative, reduce and top_k.

// (C1)
func.func @cumulative_dim(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{dim: 2 is not a dimension of a tensor of rank 2}}
  %0 = shoal.cumulative sum %x dim = 2 : tensor<8x4xf32>
  return
}

// -----

// (C2)
func.func @cumulative_and_of_floats(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{and: expected integers but got 'f32'}}
  %0 = shoal.cumulative and %x dim = 1 : tensor<8x4xf32>
  return
}

// -----

// (C2)
func.func @cumulative_sum_of_f8(%x: tensor<8x4xf8E4M3FN>) {
  // expected-error@+1 {{sum: expected a wider type than 'f8E4M3FN', which would round every partial result to 4 bits; convert to f32 in front of it}}
  %0 = shoal.cumulative sum %x dim = 1 : tensor<8x4xf8E4M3FN>
  return
}

// -----

// (C3)
func.func @reduce_prod_of_f8(%x: tensor<8x4xf8E5M2>) {
  // expected-error@+1 {{prod: expected a wider type than 'f8E5M2', which would round every partial result to 3 bits}}
  %0 = shoal.reduce prod %x dims = [1] : tensor<8x4xf8E5M2> -> tensor<8xf8E5M2>
  return
}

// -----

// (C1)
func.func @reduce_dim(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{dims[0]: -1 is not a dimension of a tensor of rank 2}}
  %0 = shoal.reduce sum %x dims = [-1] : tensor<8x4xf32> -> tensor<8xf32>
  return
}

// -----

// (C1)
func.func @reduce_dim_twice(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{dims: dimension 1 occurs twice}}
  %0 = shoal.reduce sum %x dims = [1, 1] : tensor<8x4xf32> -> tensor<8xf32>
  return
}

// -----

// (C1)
func.func @reduce_order(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{dims: expected ascending order but got [1, 0]}}
  %0 = shoal.reduce sum %x dims = [1, 0] : tensor<8x4xf32> -> tensor<f32>
  return
}

// -----

// (C2)
func.func @reduce_shape(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{result 0 dim 0: expected size 8 but got 4}}
  %0 = shoal.reduce sum %x dims = [1] : tensor<8x4xf32> -> tensor<4xf32>
  return
}

// -----

// (C2)
func.func @reduce_type(%x: tensor<8x4xbf16>) {
  // expected-error@+1 {{result 0: expected elements of type 'bf16' but got 'f32'}}
  %0 = shoal.reduce sum %x dims = [1] : tensor<8x4xbf16> -> tensor<8xf32>
  return
}

// -----

// (C3)
func.func @reduce_or_of_floats(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{or: expected integers but got 'f32'}}
  %0 = shoal.reduce or %x dims = [1] : tensor<8x4xf32> -> tensor<8xf32>
  return
}

// -----

// (C3)
func.func @reduce_sum_of_booleans(%x: tensor<8x4xi1>) {
  // expected-error@+1 {{sum: expected numbers but got i1; for booleans there are and and or}}
  %0 = shoal.reduce sum %x dims = [1] : tensor<8x4xi1> -> tensor<8xi1>
  return
}

// -----

// (C1)
func.func @top_k_of_a_scalar(%x: tensor<f32>) {
  // expected-error@+1 {{operand 0: expected at least one dimension}}
  %0, %1 = shoal.top_k %x {k = 1} : tensor<f32> -> tensor<f32>, tensor<i32>
  return
}

// -----

// (C1)
func.func @top_k_of_more_than_there_are(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{k: expected 1 to 4, the last dimension's size, but got 5}}
  %0, %1 = shoal.top_k %x {k = 5} : tensor<8x4xf32> -> tensor<8x5xf32>, tensor<8x5xi32>
  return
}

// -----

// (C2)
func.func @top_k_places_are_i32(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{result 1: expected elements of type 'i32' but got 'i64'}}
  %0, %1 = shoal.top_k %x {k = 2} : tensor<8x4xf32> -> tensor<8x2xf32>, tensor<8x2xi64>
  return
}

// -----

// (C2)
func.func @top_k_shape(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{result 0 dim 1: expected size 2 but got 4}}
  %0, %1 = shoal.top_k %x {k = 2} : tensor<8x4xf32> -> tensor<8x4xf32>, tensor<8x2xi32>
  return
}

// -----

// (C3)
func.func @top_k_of_booleans(%x: tensor<8x4xi1>) {
  // expected-error@+1 {{operand 0: expected numbers but got i1}}
  %0, %1 = shoal.top_k %x {k = 2} : tensor<8x4xi1> -> tensor<8x2xi1>, tensor<8x2xi32>
  return
}
