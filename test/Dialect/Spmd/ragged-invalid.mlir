// RUN: shoal-opt %s -split-input-file -verify-diagnostics

// ragged_all_to_all

// (C1)
shoal.mesh @mesh = <["x" = 2]>
func.func @a_scalar_has_no_rows(%x: tensor<f32>, %y: tensor<f32>, %i: tensor<2xi32>) {
  // expected-error@+1 {{expected rows to send but got a scalar}}
  %0 = spmd.ragged_all_to_all @mesh {"x"} %x into %y send(%i, %i) to(%i) receive(%i) : tensor<f32> into tensor<f32>, tensor<2xi32>
  return
}

// -----

// (C1)
shoal.mesh @mesh = <["x" = 2]>
func.func @rows_of_other_sizes(%x: tensor<3x4xf32>, %y: tensor<3x5xf32>, %i: tensor<2xi32>) {
  // expected-error@+1 {{expected rows of 'tensor<3x4xf32>' to go to rows like them but got 'tensor<3x5xf32>'}}
  %0 = spmd.ragged_all_to_all @mesh {"x"} %x into %y send(%i, %i) to(%i) receive(%i) : tensor<3x4xf32> into tensor<3x5xf32>, tensor<2xi32>
  return
}

// -----

// (C1)
shoal.mesh @mesh = <["x" = 2]>
func.func @rows_of_other_elements(%x: tensor<3x4xf32>, %y: tensor<3x4xi32>, %i: tensor<2xi32>) {
  // expected-error@+1 {{expected rows of 'tensor<3x4xf32>' to go to rows like them but got 'tensor<3x4xi32>'}}
  %0 = spmd.ragged_all_to_all @mesh {"x"} %x into %y send(%i, %i) to(%i) receive(%i) : tensor<3x4xf32> into tensor<3x4xi32>, tensor<2xi32>
  return
}

// -----

// (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @sizes_are_integers(%x: tensor<3xf32>, %y: tensor<3xf32>, %i: tensor<2xf32>) {
  // expected-error@+1 {{expected offsets and sizes of i32 or i64 but got 'f32'}}
  %0 = spmd.ragged_all_to_all @mesh {"x"} %x into %y send(%i, %i) to(%i) receive(%i) : tensor<3xf32> into tensor<3xf32>, tensor<2xf32>
  return
}

// -----

// (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @sizes_are_lists(%x: tensor<3xf32>, %y: tensor<3xf32>, %i: tensor<2x1xi32>) {
  // expected-error@+1 {{expected lists of offsets and sizes but got 'tensor<2x1xi32>'}}
  %0 = spmd.ragged_all_to_all @mesh {"x"} %x into %y send(%i, %i) to(%i) receive(%i) : tensor<3xf32> into tensor<3xf32>, tensor<2x1xi32>
  return
}

// -----

// (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @as_many_sizes_for_each_device(%x: tensor<3xf32>, %y: tensor<3xf32>, %i: tensor<3xi32>) {
  // expected-error@+1 {{3 offsets and sizes are not the same number for each of 2 devices}}
  %0 = spmd.ragged_all_to_all @mesh {"x"} %x into %y send(%i, %i) to(%i) receive(%i) : tensor<3xf32> into tensor<3xf32>, tensor<3xi32>
  return
}

// -----

// (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @no_sizes(%x: tensor<3xf32>, %y: tensor<3xf32>, %i: tensor<0xi32>) {
  // expected-error@+1 {{0 offsets and sizes are not the same number for each of 2 devices}}
  %0 = spmd.ragged_all_to_all @mesh {"x"} %x into %y send(%i, %i) to(%i) receive(%i) : tensor<3xf32> into tensor<3xf32>, tensor<0xi32>
  return
}

// -----

// (C3)
shoal.mesh @mesh = <["x" = 2]>
func.func @mean_rows_are_those_of_the_smaller_tensor(%x: tensor<3xf32>, %y: tensor<5xf32>, %i: tensor<2xi32>) {
  // expected-error@+1 {{expected mean_rows of 0 to 3, the rows of the smaller tensor, but got 4}}
  %0 = spmd.ragged_all_to_all @mesh {"x"} %x into %y send(%i, %i) to(%i) receive(%i) {mean_rows = 4 : i64} : tensor<3xf32> into tensor<5xf32>, tensor<2xi32>
  return
}
