// RUN: shoal-opt %s -split-input-file -verify-diagnostics

// The laws of fft.

// (C1)
func.func @three(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected one or two operands, a real or a complex line's, but got 3}}
  %0:2 = shoal.fft %x, %x, %x dim = 0 : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// (C1)
func.func @no_result(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected one or two results, a real or a complex line's, but got 0}}
  "shoal.fft"(%x) {dim = 0 : i64} : (tensor<4xf32>) -> ()
  return
}

// -----

// (C1)
func.func @real_to_real(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected a real operand or a real result, not both}}
  %0 = shoal.fft %x dim = 0 : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// (C1)
func.func @halves(%x: tensor<4xf32>, %y: tensor<5xf32>) {
  // expected-error@+1 {{operand 1 dim 0: expected size 4 but got 5}}
  %0:2 = shoal.fft %x, %y dim = 0 : (tensor<4xf32>, tensor<5xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// (C2)
func.func @small_floats(%x: tensor<4xbf16>) {
  // expected-error@+1 {{operand 0: expected elements of type f32 or f64 but got 'bf16'}}
  %0:2 = shoal.fft %x, %x dim = 0 : (tensor<4xbf16>, tensor<4xbf16>) -> (tensor<4xbf16>, tensor<4xbf16>)
  return
}

// -----

// (C2)
func.func @elements(%x: tensor<4xf32>) {
  // expected-error@+1 {{result 1: expected elements of type 'f32' but got 'f64'}}
  %0:2 = shoal.fft %x, %x dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf64>)
  return
}

// -----

// (C3)
func.func @dim(%x: tensor<4xf32>) {
  // expected-error@+1 {{dim: 1 is not a dimension of a tensor of rank 1}}
  %0:2 = shoal.fft %x, %x dim = 1 : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// (C3)
func.func @half_a_spectrum(%x: tensor<4x7xf32>) {
  // expected-error@+1 {{result 0 dim 1: expected size 4 but got 3}}
  %0:2 = shoal.fft %x dim = 1 : (tensor<4x7xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
  return
}

// -----

// (C3)
func.func @real_line(%x: tensor<4x4xf32>) {
  // expected-error@+1 {{operand 0 dim 1: expected size 5 for a line of 8 real numbers but got 4}}
  %0 = shoal.fft %x, %x dim = 1 {inverse} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  return
}

// -----

// (C3)
func.func @nothing(%x: tensor<3x0xf32>) {
  // expected-error@+1 {{dim 1: expected at least one element}}
  %0:2 = shoal.fft %x, %x dim = 1 : (tensor<3x0xf32>, tensor<3x0xf32>) -> (tensor<3x0xf32>, tensor<3x0xf32>)
  return
}

// -----

// (C4)
func.func @forwards_to_real(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected `inverse` where the result is real, and not where the operand is}}
  %0 = shoal.fft %x, %x dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<6xf32>
  return
}

// -----

// (C4)
func.func @inverse_of_real(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected `inverse` where the result is real, and not where the operand is}}
  %0:2 = shoal.fft %x dim = 0 {inverse} : (tensor<4xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  return
}
