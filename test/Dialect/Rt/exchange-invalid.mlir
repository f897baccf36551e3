// RUN: shoal-opt %s -split-input-file -verify-diagnostics

// exchange (C1)
shoal.mesh @mesh = <["x" = 2]>
func.func @dims_missing(%x: memref<4xf32>) {
  // expected-error@+1 {{dims: expected an entry for each of 1 dimensions but got 0}}
  rt.exchange @mesh -> @mesh [] ins(%x : memref<4xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

// exchange (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @input_size(%x: memref<4xf32>, %y: memref<3xf32>) {
  // expected-error@+1 {{expected an input of 'memref<5xf32>' but got 'memref<4xf32>'}}
  rt.exchange @mesh -> @mesh [#rt.exchange_dim<size = 9, rows = 3, source = {"x"}, target = {}>]
    ins(%x : memref<4xf32>) outs(%y : memref<3xf32>)
  return
}

// -----

// exchange (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @output_size(%x: memref<4xf32>, %y: memref<3xf32>) {
  // expected-error@+1 {{expected an output of 'memref<2xf32>' but got 'memref<3xf32>'}}
  rt.exchange @mesh -> @mesh [#rt.exchange_dim<size = 8, rows = 2, source = {"x"}, target = {}>]
    ins(%x : memref<4xf32>) outs(%y : memref<3xf32>)
  return
}

// -----

// exchange (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @exchanges_its_elements(%x: memref<4xf32>, %y: memref<3xi32>) {
  // expected-error@+1 {{expected an output of 'f32' but got 'i32'}}
  rt.exchange @mesh -> @mesh [#rt.exchange_dim<size = 8, rows = 3, source = {"x"}, target = {}>]
    ins(%x : memref<4xf32>) outs(%y : memref<3xi32>)
  return
}

// -----

// exchange (C3)
shoal.mesh @mesh = <["x" = 2]>
func.func @negative_rows(%x: memref<4xf32>) {
  // expected-error@+1 {{dims[0]: size 8 or rows -1 is negative}}
  rt.exchange @mesh -> @mesh [#rt.exchange_dim<size = 8, rows = -1, source = {"x"}, target = {}>]
    ins(%x : memref<4xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

// exchange (C3)
shoal.mesh @mesh = <["x" = 2]>
func.func @negative_size(%x: memref<4xf32>) {
  // expected-error@+1 {{dims[0]: size -8 or rows 4 is negative}}
  rt.exchange @mesh -> @mesh [#rt.exchange_dim<size = -8, rows = 4, source = {"x"}, target = {}>]
    ins(%x : memref<4xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

// exchange (C3)
shoal.mesh @mesh = <["x" = 2]>
func.func @divisor_of_zero(%x: memref<4xf32>) {
  // expected-error@+1 {{dims[0]: divisor 0 is less than 1}}
  rt.exchange @mesh -> @mesh [#rt.exchange_dim<size = 8, divisor = 0, rows = 4, source = {"x"}, target = {}>]
    ins(%x : memref<4xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

// exchange (C3)
shoal.mesh @mesh = <["x" = 2]>
func.func @step_too_far(%x: memref<4xf32>) {
  // expected-error@+1 {{step 1152921504606846976 over 2 devices and offset 0 reach past 2^60 rows}}
  rt.exchange @mesh -> @mesh [#rt.exchange_dim<size = 4, step = 1152921504606846976, rows = 4, source = {}, target = {"x"}>]
    ins(%x : memref<4xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

// exchange (C4)
// expected-note@+1 {{the source mesh is defined here}}
shoal.mesh @mesh = <["x" = 2]>
// expected-note@+1 {{the target mesh is defined here}}
shoal.mesh @grid = <["x" = 2, "y" = 3]>
func.func @exchange_with_another_mesh(%x: memref<4xf32>, %y: memref<8xf32>) {
  // expected-error@+1 {{mesh @grid has other axes than mesh @mesh}}
  rt.exchange @mesh -> @grid [#rt.exchange_dim<size = 8, rows = 8, source = {"x"}, target = {}>]
    ins(%x : memref<4xf32>) outs(%y : memref<8xf32>)
  return
}
