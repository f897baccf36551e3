// RUN: shoal-opt %s -split-input-file -verify-diagnostics

// (P2), of the second list
// expected-note@+1 {{the mesh is defined here}}
shoal.mesh @mesh = <["x" = 2]>
func.func @unknown_axis(%x: tensor<2x2xf32>) {
  // expected-error@+1 {{unknown axis "y" in mesh @mesh}}
  %0 = spmd.exchange @mesh [{"x"}, {}] -> @mesh [{}, {"y"}] %x shape = [3, 2] : tensor<2x2xf32> -> tensor<3x1xf32>
  return
}

// -----

// (C1)
// expected-note@+1 {{the source mesh is defined here}}
shoal.mesh @mesh = <["x" = 2]>
// expected-note@+1 {{the target mesh is defined here}}
shoal.mesh @other = <["x" = 4]>
func.func @other_axes(%x: tensor<2x2xf32>) {
  // expected-error@+1 {{mesh @other has other axes than mesh @mesh}}
  %0 = spmd.exchange @mesh [{"x"}, {}] -> @other [{}, {"x"}] %x shape = [3, 2] : tensor<2x2xf32> -> tensor<3x1xf32>
  return
}

// -----

// (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @sizes_missing(%x: tensor<2x2xf32>) {
  // expected-error@+1 {{shape: expected an entry for each of 2 dimensions but got 1}}
  %0 = spmd.exchange @mesh [{"x"}, {}] -> @mesh [{}, {"x"}] %x shape = [3] : tensor<2x2xf32> -> tensor<3x1xf32>
  return
}

// -----

// (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @axes_missing(%x: tensor<2x2xf32>) {
  // expected-error@+1 {{target_axes: expected an entry for each of 2 dimensions but got 1}}
  %0 = spmd.exchange @mesh [{"x"}, {}] -> @mesh [{}] %x shape = [3, 2] : tensor<2x2xf32> -> tensor<3x1xf32>
  return
}

// -----

// (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @negative_size(%x: tensor<2x2xf32>) {
  // expected-error@+1 {{shape[1]: -2 is negative}}
  %0 = spmd.exchange @mesh [{"x"}, {}] -> @mesh [{}, {"x"}] %x shape = [3, -2] : tensor<2x2xf32> -> tensor<3x1xf32>
  return
}

// -----

// (C3)
shoal.mesh @mesh = <["x" = 2]>
func.func @wrong_operand(%x: tensor<2x2xf32>) {
  // expected-error@+1 {{operand 0 dim 0: expected size 3 but got 2}}
  %0 = spmd.exchange @mesh [{"x"}, {}] -> @mesh [{}, {"x"}] %x shape = [5, 2] : tensor<2x2xf32> -> tensor<5x1xf32>
  return
}

// -----

// (C4)
shoal.mesh @mesh = <["x" = 2]>
func.func @wrong_result(%x: tensor<2x2xf32>) {
  // expected-error@+1 {{result 0 dim 1: expected size 1 but got 2}}
  %0 = spmd.exchange @mesh [{"x"}, {}] -> @mesh [{}, {"x"}] %x shape = [3, 2] : tensor<2x2xf32> -> tensor<3x2xf32>
  return
}

// -----

// (C4)
shoal.mesh @mesh = <["x" = 2]>
func.func @other_element_type(%x: tensor<2x2xf32>) {
  // expected-error@+1 {{result 0: expected elements of type 'f32' but got 'i32'}}
  %0 = spmd.exchange @mesh [{"x"}, {}] -> @mesh [{}, {"x"}] %x shape = [3, 2] : tensor<2x2xf32> -> tensor<3x1xi32>
  return
}
