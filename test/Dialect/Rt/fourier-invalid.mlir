// RUN: shoal-opt %s -split-input-file -verify-diagnostics

// fft (C1)
func.func @three(%x: memref<4xf32>) {
  // expected-error@+1 {{expected one or two inputs but got 3}}
  rt.fft dim 0 ins(%x, %x, %x : memref<4xf32>, memref<4xf32>, memref<4xf32>) outs(%x, %x : memref<4xf32>, memref<4xf32>)
  return
}

// -----

// fft (C1)
func.func @halves(%x: memref<4xf32>, %y: memref<5xf32>) {
  // expected-error@+1 {{expected outputs of one type, of f32 or f64, but got 'memref<4xf32>' and 'memref<5xf32>'}}
  rt.fft dim 0 ins(%x, %x : memref<4xf32>, memref<4xf32>) outs(%x, %y : memref<4xf32>, memref<5xf32>)
  return
}

// -----

// fft (C1)
func.func @real_to_real(%x: memref<4xf32>) {
  // expected-error@+1 {{expected real numbers on one side at most, and equal element types, but got 'memref<4xf32>' and 'memref<4xf32>'}}
  rt.fft dim 0 ins(%x : memref<4xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

// fft (C2)
func.func @no_dim(%x: memref<4xf32>) {
  // expected-error@+1 {{dim: 1 is not a dimension of a tensor of rank 1}}
  rt.fft dim 1 ins(%x, %x : memref<4xf32>, memref<4xf32>) outs(%x, %x : memref<4xf32>, memref<4xf32>)
  return
}

// -----

// fft (C2)
func.func @no_half(%x: memref<3x4xf32>, %y: memref<3x4xf32>) {
  // expected-error@+1 {{expected outputs that fit 'memref<3x4xf32>' along dim 1 but got 'memref<3x4xf32>'}}
  rt.fft dim 1 ins(%x : memref<3x4xf32>) outs(%y, %y : memref<3x4xf32>, memref<3x4xf32>)
  return
}
