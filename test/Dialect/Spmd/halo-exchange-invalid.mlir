// RUN: shoal-opt %s -split-input-file -verify-diagnostics

// (P2)
// expected-note@+1 {{the mesh is defined here}}
shoal.mesh @mesh = <["x" = 2]>
func.func @unknown_axis(%x: tensor<4x6xf32>) {
  // expected-error@+1 {{unknown axis "y" in mesh @mesh}}
  %0 = spmd.halo_exchange @mesh {"y"} %x {dim = 0, size = 8, step = 4, offset = 0} : tensor<4x6xf32> -> tensor<6x6xf32>
  return
}

// -----

// (C1)
shoal.mesh @mesh = <["x" = 2]>
func.func @no_such_dimension(%x: tensor<4x6xf32>) {
  // expected-error@+1 {{dim: 2 is not a dimension of a tensor of rank 2}}
  %0 = spmd.halo_exchange @mesh {"x"} %x {dim = 2, size = 8, step = 4, offset = 0} : tensor<4x6xf32> -> tensor<6x6xf32>
  return
}

// -----

// (C1)
shoal.mesh @mesh = <["x" = 2]>
func.func @negative_size(%x: tensor<4x6xf32>) {
  // expected-error@+1 {{size: -8 is negative}}
  %0 = spmd.halo_exchange @mesh {"x"} %x {dim = 0, size = -8, step = 4, offset = 0} : tensor<4x6xf32> -> tensor<6x6xf32>
  return
}

// -----

// (C1)
shoal.mesh @mesh = <["x" = 2]>
func.func @division_by_zero(%x: tensor<4x6xf32>) {
  // expected-error@+1 {{divisor: 0 is less than 1}}
  %0 = spmd.halo_exchange @mesh {"x"} %x {dim = 0, size = 8, step = 4, offset = 0, divisor = 0} : tensor<4x6xf32> -> tensor<6x6xf32>
  return
}

// -----

// (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @wrong_shard(%x: tensor<4x6xf32>) {
  // expected-error@+1 {{operand 0 dim 0: expected 5, a shard of 9 rows over 2 devices, but got 4}}
  %0 = spmd.halo_exchange @mesh {"x"} %x {dim = 0, size = 9, step = 4, offset = 0} : tensor<4x6xf32> -> tensor<6x6xf32>
  return
}

// -----

// (C3)
shoal.mesh @mesh = <["x" = 2]>
func.func @other_dimension_changes(%x: tensor<4x6xf32>) {
  // expected-error@+1 {{result 0 dim 1: expected size 6 but got 7}}
  %0 = spmd.halo_exchange @mesh {"x"} %x {dim = 0, size = 8, step = 4, offset = 0} : tensor<4x6xf32> -> tensor<6x7xf32>
  return
}

// -----

// (C3)
shoal.mesh @mesh = <["x" = 2]>
func.func @rank_changes(%x: tensor<4x6xf32>) {
  // expected-error@+1 {{result 0: expected rank 2 but got 1}}
  %0 = spmd.halo_exchange @mesh {"x"} %x {dim = 1, size = 12, step = 4, offset = 0} : tensor<4x6xf32> -> tensor<6xf32>
  return
}

// -----

// (C4)
shoal.mesh @mesh = <["x" = 2]>
func.func @too_far(%x: tensor<4x6xf32>) {
  // expected-error@+1 {{step 576460752303423488 over 2 devices and offset -1 reach past 2^60 rows}}
  %0 = spmd.halo_exchange @mesh {"x"} %x {dim = 0, size = 8, step = 576460752303423488, offset = -1} : tensor<4x6xf32> -> tensor<6x6xf32>
  return
}
