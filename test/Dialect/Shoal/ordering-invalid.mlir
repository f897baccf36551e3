// RUN: shoal-opt %s -split-input-file -verify-diagnostics

// The laws of sort, top_k, argmax and argmin.

// sort (C1)
func.func @sort_nothing() {
  // expected-error@+1 {{expected at least one operand}}
  "shoal.sort"() {dim = 0 : i64} : () -> ()
  return
}

// -----

// sort (C1)
func.func @sort_shapes(%x: tensor<8x4xf32>, %y: tensor<8x5xf32>) {
  // expected-error@+1 {{operand 1 dim 1: expected size 4 but got 5}}
  %0:2 = shoal.sort %x, %y dim = 0 : (tensor<8x4xf32>, tensor<8x5xf32>) -> (tensor<8x4xf32>, tensor<8x5xf32>)
  return
}

// -----

// sort (C2)
func.func @sort_dim(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{dim: 2 is not a dimension of a tensor of rank 2}}
  %0 = shoal.sort %x dim = 2 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

// sort (C2)
func.func @sort_scalar(%x: tensor<f32>) {
  // expected-error@+1 {{dim: 0 is not a dimension of a tensor of rank 0}}
  %0 = shoal.sort %x dim = 0 : (tensor<f32>) -> tensor<f32>
  return
}

// -----

// sort (C3)
func.func @sort_keys(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{num_keys: expected 1 to 1, the number of operands, but got 2}}
  %0 = shoal.sort %x dim = 0 {num_keys = 2} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

// sort (C4)
func.func @sort_results(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{expected 1 results, one for each operand, but got 2}}
  %0:2 = shoal.sort %x dim = 0 : (tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
  return
}

// -----

// sort (C4)
func.func @sort_result_type(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{result 0: expected elements of type 'f32' but got 'i32'}}
  %0 = shoal.sort %x dim = 0 : (tensor<8x4xf32>) -> tensor<8x4xi32>
  return
}

// -----

// argmax (C1)
func.func @argmax_dim(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{dim: -1 is not a dimension of a tensor of rank 2}}
  %0 = shoal.argmax %x dim = -1 : tensor<8x4xf32> -> tensor<8xi32>
  return
}

// -----

// argmax (C2)
func.func @argmax_type(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{result 0: expected elements of type i32 or i64 but got 'i16'}}
  %0 = shoal.argmax %x dim = 1 : tensor<8x4xf32> -> tensor<8xi16>
  return
}

// -----

// argmin (C2)
func.func @argmin_shape(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{result 0 dim 0: expected size 8 but got 4}}
  %0 = shoal.argmin %x dim = 1 : tensor<8x4xf32> -> tensor<4xi32>
  return
}

// -----

// argmin (C3)
func.func @argmin_of_none(%x: tensor<8x0xf32>) {
  // expected-error@+1 {{operand 0 dim 1: expected at least one element}}
  %0 = shoal.argmin %x dim = 1 : tensor<8x0xf32> -> tensor<8xi32>
  return
}

// -----

// argmax (C3)
func.func @argmax_of_many(%x: tensor<3000000000xi8>) {
  // expected-error@+1 {{operand 0 dim 0: size 3000000000 is too large for places of type i32}}
  %0 = shoal.argmax %x dim = 0 : tensor<3000000000xi8> -> tensor<i32>
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
