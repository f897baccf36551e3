// RUN: shoal-opt %s -split-input-file -verify-diagnostics

// The laws of reshape.

// (C1)
func.func @reshape_count(%x: tensor<3x4xf32>) {
  // expected-error@+1 {{result 0: expected 12 elements, as operand 0 has, but got 10}}
  %0 = shoal.reshape %x : tensor<3x4xf32> -> tensor<10xf32>
  return
}

// -----

// (C1)
func.func @reshape_type(%x: tensor<3x4xf32>) {
  // expected-error@+1 {{result 0: expected elements of type 'f32' but got 'i32'}}
  %0 = shoal.reshape %x : tensor<3x4xf32> -> tensor<12xi32>
  return
}
