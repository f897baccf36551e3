// RUN: shoal-opt %s -split-input-file -verify-diagnostics

// gather (C1)
func.func @window_too_long(%x: memref<4xf32>, %i: memref<1xi32>, %y: memref<5xf32>) {
  // expected-error@+1 {{windows dim 0: no window of 5 fits into 4}}
  rt.gather <[4 by 5 step 1 at 0]> ins(%x, %i : memref<4xf32>, memref<1xi32>) outs(%y : memref<5xf32>)
  return
}

// -----

// gather (C1)
func.func @place_not_in_indices(%x: memref<4xf32>, %i: memref<1xi32>, %y: memref<2xf32>) {
  // expected-error@+1 {{windows dim 0: place 1 is not in 'memref<1xi32>'}}
  rt.gather <[4 by 2 step 1 at 1]> ins(%x, %i : memref<4xf32>, memref<1xi32>) outs(%y : memref<2xf32>)
  return
}

// -----

// gather (C1)
func.func @other_operand(%x: memref<4xf32>, %i: memref<1xi32>, %y: memref<2xf32>) {
  // expected-error@+1 {{windows dim 0: expected size 4 but got 5}}
  rt.gather <[5 by 2 step 1 at 0]> ins(%x, %i : memref<4xf32>, memref<1xi32>) outs(%y : memref<2xf32>)
  return
}

// -----

// gather (C1)
func.func @dims_missing(%x: memref<4x4xf32>, %i: memref<1xi32>, %y: memref<2xf32>) {
  // expected-error@+1 {{windows: expected an entry for each of 2 dimensions but got 1}}
  rt.gather <[4 by 2 step 1 at 0]> ins(%x, %i : memref<4x4xf32>, memref<1xi32>) outs(%y : memref<2xf32>)
  return
}

// -----

// gather (C1)
func.func @negative_window(%x: memref<4xf32>, %i: memref<1xi32>, %y: memref<2xf32>) {
  // expected-error@+1 {{windows dim 0: no window of -2 fits into 4}}
  rt.gather <[4 by -2 step 1 at 0]> ins(%x, %i : memref<4xf32>, memref<1xi32>) outs(%y : memref<2xf32>)
  return
}

// -----

// gather (C1)
func.func @negative_place(%x: memref<4xf32>, %i: memref<1xi32>, %y: memref<2xf32>) {
  // expected-error@+1 {{windows dim 0: place -5 is not in 'memref<1xi32>'}}
  rt.gather <[4 by 2 step 1 at -5]> ins(%x, %i : memref<4xf32>, memref<1xi32>) outs(%y : memref<2xf32>)
  return
}

// -----

// gather (C2)
func.func @elements(%x: memref<4xf32>, %i: memref<1xi32>, %y: memref<3xf32>) {
  // expected-error@+1 {{windows have 2 elements but the windows' tensor is 'memref<3xf32>'}}
  rt.gather <[4 by 2 step 1 at 0]> ins(%x, %i : memref<4xf32>, memref<1xi32>) outs(%y : memref<3xf32>)
  return
}

// -----

// gather (C2)
func.func @negative_loops(%x: memref<4xf32>, %i: memref<1xi32>, %y: memref<3xf32>) {
  // expected-error@+1 {{windows: a loop has the size -1}}
  rt.gather <[4 by 1 at 0] loop [-1 : 0, 0, 0] loop [-3 : 0, 0, 1]>
    ins(%x, %i : memref<4xf32>, memref<1xi32>) outs(%y : memref<3xf32>)
  return
}

// -----

// gather (C2)
func.func @more_elements_than_there_are(%x: memref<4xf32>, %i: memref<1xi32>, %y: memref<0xf32>) {
  // expected-error@+1 {{windows have 72057594037927936 elements but the windows' tensor is 'memref<0xf32>'}}
  rt.gather <[4 by 4 step 1 at 0] loop [4611686018427387904 : 0, 0, 4]>
    ins(%x, %i : memref<4xf32>, memref<1xi32>) outs(%y : memref<0xf32>)
  return
}

// -----

// gather (C3)
func.func @windows_of_other_elements(%x: memref<4xf32>, %i: memref<1xi32>, %y: memref<2xbf16>) {
  // expected-error@+1 {{expected windows of 'f32' and indices of integers but got 'memref<2xbf16>' and 'memref<1xi32>'}}
  rt.gather <[4 by 2 step 1 at 0]> ins(%x, %i : memref<4xf32>, memref<1xi32>) outs(%y : memref<2xbf16>)
  return
}

// -----

// gather (C3)
func.func @indices_of_bits(%x: memref<4xf32>, %i: memref<1xi1>, %y: memref<2xf32>) {
  // expected-error@+1 {{expected windows of 'f32' and indices of integers but got 'memref<2xf32>' and 'memref<1xi1>'}}
  rt.gather <[4 by 2 step 1 at 0]> ins(%x, %i : memref<4xf32>, memref<1xi1>) outs(%y : memref<2xf32>)
  return
}

// -----

// gather (C4)
func.func @out_of_the_windows(%x: memref<4xf32>, %i: memref<3xi32>, %y: memref<3xf32>) {
  // expected-error@+1 {{windows reach out of 'memref<3xf32>'}}
  rt.gather <[4 by 1 at 0] loop [3 : 1, 0, 2]> ins(%x, %i : memref<4xf32>, memref<3xi32>) outs(%y : memref<3xf32>)
  return
}

// -----

// gather (C4)
func.func @out_of_the_indices(%x: memref<4xf32>, %i: memref<3xi32>, %y: memref<3xf32>) {
  // expected-error@+1 {{windows reach out of 'memref<3xi32>'}}
  rt.gather <[4 by 1 at 1] loop [3 : 1, 0, 1]> ins(%x, %i : memref<4xf32>, memref<3xi32>) outs(%y : memref<3xf32>)
  return
}

// -----

// gather (C4)
func.func @out_of_the_operand(%x: memref<4xf32>, %i: memref<3xi32>, %y: memref<3xf32>) {
  // expected-error@+1 {{windows reach out of 'memref<4xf32>'}}
  rt.gather <[4 by 1 at 0] loop [3 : 1, 1, 1]> ins(%x, %i : memref<4xf32>, memref<3xi32>) outs(%y : memref<3xf32>)
  return
}

// -----

// gather (C4)
func.func @in_front_of_the_operand(%x: memref<4xf32>, %i: memref<3xi32>, %y: memref<3xf32>) {
  // expected-error@+1 {{windows reach out of 'memref<4xf32>'}}
  rt.gather <[4 by 1] loop [3 : 1, -1, 1]> ins(%x, %i : memref<4xf32>, memref<3xi32>) outs(%y : memref<3xf32>)
  return
}

// -----

// scatter (C1)
func.func @clamped_windows_fit(%x: memref<4xf32>, %i: memref<1xi32>, %u: memref<5xf32>) {
  // expected-error@+1 {{windows dim 0: no window of 5 fits into 4}}
  rt.scatter <[4 by 5 step 1 at 0]> ins(%i, %u : memref<1xi32>, memref<5xf32>) outs(%x : memref<4xf32>) {clamps}
  return
}

// -----

// scatter (C2)
func.func @updates(%x: memref<4xf32>, %i: memref<1xi32>, %u: memref<3xf32>) {
  // expected-error@+1 {{windows have 2 elements but the windows' tensor is 'memref<3xf32>'}}
  rt.scatter <[4 by 2 step 1 at 0]> ins(%i, %u : memref<1xi32>, memref<3xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

// scatter, gather (C3)
func.func @indices_are_integers(%x: memref<4xf32>, %i: memref<1xf32>, %u: memref<2xf32>) {
  // expected-error@+1 {{expected windows of 'f32' and indices of integers}}
  rt.scatter <[4 by 2 step 1 at 0]> ins(%i, %u : memref<1xf32>, memref<2xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

// scatter (C4)
func.func @out_of_the_updates(%x: memref<4xf32>, %i: memref<1xi32>, %u: memref<2xf32>) {
  // expected-error@+1 {{windows reach out of 'memref<2xf32>'}}
  rt.scatter <[4 by 2 step 2 at 0]> ins(%i, %u : memref<1xi32>, memref<2xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

// scatter (C5)
func.func @bits_of_floats(%x: memref<4xf32>, %i: memref<1xi32>, %u: memref<2xf32>) {
  // expected-error@+1 {{and: expected integers but got 'f32'}}
  rt.scatter <[4 by 2 step 1 at 0]> kind and ins(%i, %u : memref<1xi32>, memref<2xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

// rows (C1)
func.func @rows_of_a_part(%x: memref<4x4xf32, strided<[8, 1]>>, %i: index) {
  // expected-error@+1 {{expected dense memrefs of static shape but got 'memref<4x4xf32, strided<[8, 1]>>' and 'memref<4xf32>'}}
  %0 = rt.rows %x[%i] : memref<4x4xf32, strided<[8, 1]>> to memref<4xf32>
  return
}

// -----

// rows (C1)
func.func @rows_without_an_end(%x: memref<?x4xf32>, %i: index) {
  // expected-error@+1 {{expected dense memrefs of static shape but got 'memref<?x4xf32>' and 'memref<4xf32>'}}
  %0 = rt.rows %x[%i] : memref<?x4xf32> to memref<4xf32>
  return
}

// -----

// rows (C1)
func.func @rows_of_another_type(%x: memref<4x4xf32>, %i: index) {
  // expected-error@+1 {{expected one element type but got 'memref<4x4xf32>' and 'memref<4xi32>'}}
  %0 = rt.rows %x[%i] : memref<4x4xf32> to memref<4xi32>
  return
}

// -----

// rows (C2)
func.func @more_rows_than_there_are(%x: memref<4x4xf32>, %i: index) {
  // expected-error@+1 {{expected rows of at most 16 elements but got 20}}
  %0 = rt.rows %x[%i] : memref<4x4xf32> to memref<5x4xf32>
  return
}
