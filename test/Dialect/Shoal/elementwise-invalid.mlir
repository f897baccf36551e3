// RUN: shoal-opt %s -split-input-file -verify-diagnostics

// The laws of clamp and bitcast_convert.

// clamp (C1)
func.func @clamp_bound(%x: tensor<8x4xf32>, %low: tensor<4xf32>) {
  // expected-error@+1 {{operand 0: expected rank 2 but got 1}}
  %0 = shoal.clamp %low, %x, %x : tensor<4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
  return
}

// -----

// clamp (C2)
func.func @clamp_type(%x: tensor<8x4xf32>, %high: tensor<i32>) {
  // expected-error@+1 {{operand 2: expected elements of type 'f32' but got 'i32'}}
  %0 = shoal.clamp %x, %x, %high : tensor<8x4xf32>, tensor<8x4xf32>, tensor<i32>
  return
}

// -----

// clamp (C3)
func.func @clamp_result(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{failed to verify that all of {input, result} have same type}}
  %0 = "shoal.clamp"(%x, %x, %x) : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x5xf32>
  return
}

// -----

// bitcast_convert (C1)
func.func @bits_of_booleans(%x: tensor<8xi1>) {
  // expected-error@+1 {{operand 0: expected numbers but got i1}}
  %0 = shoal.bitcast_convert %x : tensor<8xi1> -> tensor<i8>
  return
}

// -----

// bitcast_convert (C1)
func.func @bits_as_booleans(%x: tensor<8xi8>) {
  // expected-error@+1 {{result 0: expected numbers but got i1}}
  %0 = shoal.bitcast_convert %x : tensor<8xi8> -> tensor<8x8xi1>
  return
}

// -----

// bitcast_convert (C2)
func.func @bits_to_narrower(%x: tensor<8xf32>) {
  // expected-error@+1 {{result 0 dim 1: expected size 4 but got 2}}
  %0 = shoal.bitcast_convert %x : tensor<8xf32> -> tensor<8x2xi8>
  return
}

// -----

// bitcast_convert (C2)
func.func @bits_to_wider(%x: tensor<8x3xbf16>) {
  // expected-error@+1 {{operand 0: expected a last dimension of size 2, as many 'bf16' as make one 'f32'}}
  %0 = shoal.bitcast_convert %x : tensor<8x3xbf16> -> tensor<8xf32>
  return
}
