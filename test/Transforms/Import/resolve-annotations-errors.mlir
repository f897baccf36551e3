// RUN: shoal-opt %s --split-input-file --shoal-resolve-annotations -verify-diagnostics

func.func @no_mesh(%x: tensor<16x4xf32>) -> tensor<16x4xf32> {
  // expected-error @below {{needs a mesh; add one to the module, such as shoal.mesh @mesh = <["x" = 8]>}}
  %0 = shoal.replicate %x : tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}

// -----

// expected-note @below {{the mesh is here}}
shoal.mesh @mesh = <["a" = 3, "b" = 4]>
func.func @axes_cannot_be_cut(%x: tensor<16x4xf32>) -> tensor<16x4xf32> {
  // expected-error @below {{num_partitions: 6 is not a product of minor axes of the mesh of 12 devices}}
  %0 = shoal.split %x {dim = 0, num_partitions = 6} : tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}

// -----

// expected-note @below {{the mesh is here}}
shoal.mesh @mesh = <["a" = 3, "b" = 2]>
func.func @tiles_are_no_axes(%x: tensor<16x4xf32>) -> tensor<16x4xf32> {
  // expected-error @below {{device_assignment: its tiles are no products of axes of the mesh}}
  %0 = shoal.shard %x {device_assignment = dense<[[5, 4, 3], [2, 1, 0]]> : tensor<2x3xi64>} : tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}
