// RUN: shoal-opt %s -split-input-file -verify-diagnostics

// cumulative (C1)
func.func @no_dim(%x: memref<4xf32>) {
  // expected-error@+1 {{dim: 1 is not a dimension of a tensor of rank 1}}
  rt.cumulative sum dim 1 ins(%x : memref<4xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

// cumulative (C2)
func.func @other_elements(%x: memref<4xf32>, %y: memref<4xi32>) {
  // expected-error@+1 {{expected an output like the input, 'memref<4xf32>', but got 'memref<4xi32>'}}
  rt.cumulative sum dim 0 ins(%x : memref<4xf32>) outs(%y : memref<4xi32>)
  return
}

// -----

// cumulative (C3)
func.func @bits_of_floats(%x: memref<4xf32>) {
  // expected-error@+1 {{and: expected integers but got 'f32'}}
  rt.cumulative and dim 0 ins(%x : memref<4xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

// cumulative (C3)
func.func @sum_of_bits(%x: memref<4xi1>) {
  // expected-error@+1 {{sum: expected numbers but got i1}}
  rt.cumulative sum dim 0 ins(%x : memref<4xi1>) outs(%x : memref<4xi1>)
  return
}

// -----

// top_k (C1)
func.func @more_than_there_are(%x: memref<2x4xf32>, %v: memref<2x5xf32>, %i: memref<2x5xi32>) {
  // expected-error@+1 {{expected two outputs of the input's shape, 'memref<2x4xf32>', but for the last size}}
  rt.top_k ins(%x : memref<2x4xf32>) outs(%v, %i : memref<2x5xf32>, memref<2x5xi32>)
  return
}

// -----

// top_k (C1)
func.func @greatest_of_a_scalar(%x: memref<f32>, %i: memref<i32>) {
  // expected-error@+1 {{expected two outputs of the input's shape, 'memref<f32>', but for the last size}}
  rt.top_k ins(%x : memref<f32>) outs(%x, %i : memref<f32>, memref<i32>)
  return
}

// -----

// top_k (C1)
func.func @outputs_of_two_shapes(%x: memref<2x4xf32>, %v: memref<2x3xf32>, %i: memref<2x2xi32>) {
  // expected-error@+1 {{but for the last size, but got 'memref<2x3xf32>' and 'memref<2x2xi32>'}}
  rt.top_k ins(%x : memref<2x4xf32>) outs(%v, %i : memref<2x3xf32>, memref<2x2xi32>)
  return
}

// -----

// top_k (C2)
func.func @indices_are_i32(%x: memref<2x4xf32>, %v: memref<2x3xf32>, %i: memref<2x3xi64>) {
  // expected-error@+1 {{expected values of 'f32' and indices of i32 but got 'f32' and 'i64'}}
  rt.top_k ins(%x : memref<2x4xf32>) outs(%v, %i : memref<2x3xf32>, memref<2x3xi64>)
  return
}

// -----

// top_k (C3)
func.func @greatest_bits(%x: memref<4xi1>, %i: memref<4xi32>) {
  // expected-error@+1 {{expected numbers but got i1}}
  rt.top_k ins(%x : memref<4xi1>) outs(%x, %i : memref<4xi1>, memref<4xi32>)
  return
}

// -----

// sort (C1)
func.func @no_key(%x: memref<4xf32>) {
  // expected-error@+1 {{expected 1 to 1 keys but got 2}}
  rt.sort keys 2 dim 0 ins(%x : memref<4xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

// sort (C1)
func.func @sorts_no_dim(%x: memref<4xf32>) {
  // expected-error@+1 {{dim: 1 is not a dimension of a tensor of rank 1}}
  rt.sort keys 1 dim 1 ins(%x : memref<4xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

// sort (C1)
func.func @nothing_to_sort() {
  // expected-error@+1 {{expected 1 to 0 keys but got 0}}
  "rt.sort"() <{keys = 0 : i64, dim = 0 : i64, operandSegmentSizes = array<i32: 0, 0, 0>}> : () -> ()
  return
}

// -----

// sort (C2)
func.func @two_shapes(%x: memref<4xf32>, %y: memref<5xf32>) {
  // expected-error@+1 {{expected operands of one shape but got 'memref<4xf32>' and 'memref<5xf32>'}}
  rt.sort keys 1 dim 0 ins(%x, %y : memref<4xf32>, memref<5xf32>) outs(%x, %y : memref<4xf32>, memref<5xf32>)
  return
}

// -----

// sort (C2)
func.func @sort_of_two_into_one(%x: memref<4x6xf32>, %y: memref<4x6xf32>) {
  // expected-error@+1 {{expected 2 outputs but got 1}}
  rt.sort keys 1 dim 0 ins(%x, %x : memref<4x6xf32>, memref<4x6xf32>) outs(%y : memref<4x6xf32>)
  return
}

// -----

// sort (C2)
func.func @sorts_into_other_elements(%x: memref<4xf32>, %y: memref<4xi32>) {
  // expected-error@+1 {{expected an output like the input, 'memref<4xf32>', but got 'memref<4xi32>'}}
  rt.sort keys 1 dim 0 ins(%x : memref<4xf32>) outs(%y : memref<4xi32>)
  return
}
