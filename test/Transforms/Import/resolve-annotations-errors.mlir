// RUN: shoal-opt %s --shoal-resolve-annotations -split-input-file -verify-diagnostics

func.func @no_mesh(%x: tensor<16xf32>) -> tensor<16xf32> {
  // expected-error@+1 {{needs a mesh; add one to the module, such as shoal.mesh @mesh = <["x" = 8]>}}
  %0 = shoal.split %x {dim = 0, num_partitions = 2} : tensor<16xf32>
  return %0 : tensor<16xf32>
}

// -----

shoal.mesh @mesh = <["x" = 4]>
// expected-error@+1 {{argument 0: expected no partial axes but got "x"}}
func.func @partial_argument(%x: tensor<16xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}], partial = {"x"}>}) {
  return
}

// -----

shoal.mesh @mesh = <["x" = 4]>
// expected-error@+1 {{result 0: expected no partial axes but got "x"}}
func.func @partial_result(%x: tensor<16xf32>)
    -> (tensor<16xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}], partial = {"x"}>}) {
  return %x : tensor<16xf32>
}

// -----

// Tiles of 2 x 3 over six devices need an axis, or part of one, of size 2.
// expected-note@+1 {{the mesh is here}}
shoal.mesh @mesh = <["x" = 3, "y" = 2]>
func.func @tiles_are_no_axes(%x: tensor<16x4xf32>) -> tensor<16x4xf32> {
  // expected-error@+1 {{device_assignment: its tiles are no products of axes of the mesh}}
  %0 = shoal.shard %x {device_assignment = dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xi64>} : tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}

// -----

// expected-note @below {{the mesh is defined here}}
shoal.mesh @mesh = <["a" = 3, "b" = 4]>
func.func @axes_cannot_be_cut(%x: tensor<16x4xf32>) -> tensor<16x4xf32> {
  // expected-error @below {{num_partitions: 6 is not a product of minor axes of mesh @mesh: axis "b" of size 4 has no minor part of size 6}}
  %0 = shoal.split %x {dim = 0, num_partitions = 6} : tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}
