// RUN: shoal-opt %s -split-input-file -verify-diagnostics

// The laws of annotations (A) and of reshard (R).

// (A1)
func.func @split_of_a_dimension_out_of_range(%x: tensor<8x16xf32>) {
  // expected-error@+1 {{dim: 2 is not a dimension of a tensor of rank 2}}
  %0 = shoal.split %x {dim = 2, num_partitions = 2} : tensor<8x16xf32>
  return
}

// -----

// (A1)
func.func @split_of_a_negative_dimension(%x: tensor<8x16xf32>) {
  // expected-error@+1 {{dim: -1 is not a dimension of a tensor of rank 2}}
  %0 = shoal.split %x {dim = -1, num_partitions = 2} : tensor<8x16xf32>
  return
}

// -----

// (A1)
func.func @split_of_a_scalar(%x: tensor<f32>) {
  // expected-error@+1 {{dim: 0 is not a dimension of a tensor of rank 0}}
  %0 = shoal.split %x {dim = 0, num_partitions = 2} : tensor<f32>
  return
}

// -----

// (A2)
// expected-note@+1 {{the mesh is defined here}}
shoal.mesh @mesh = <["data" = 2, "expert" = 4]>
func.func @more_partitions_than_devices(%x: tensor<16xf32>) {
  // expected-error@+1 {{num_partitions: 16 is more than the 8 devices of mesh @mesh}}
  %0 = shoal.split %x {dim = 0, num_partitions = 16} : tensor<16xf32>
  return
}

// -----

// (A2)
func.func @no_partitions(%x: tensor<16xf32>) {
  // expected-error@+1 {{num_partitions: expected at least 1 but got 0}}
  %0 = shoal.split %x {dim = 0, num_partitions = 0} : tensor<16xf32>
  return
}

// -----

// (A2)
// expected-note@+1 {{the mesh is defined here}}
shoal.mesh @mesh = <["expert" = 8]>
func.func @partitions_do_not_divide_the_devices(%x: tensor<16xf32>) {
  // expected-error@+1 {{num_partitions: 3 does not divide the 8 devices of mesh @mesh}}
  %0 = shoal.split %x {dim = 0, num_partitions = 3} : tensor<16xf32>
  return
}

// -----

// (A2)
// expected-note@+1 {{the mesh is defined here}}
shoal.mesh @mesh = <["a" = 2, "b" = 3]>
func.func @partitions_are_not_minor_axes(%x: tensor<16xf32>) {
  // expected-error@+1 {{num_partitions: 2 is not a product of minor axes of mesh @mesh: axis "b" of size 3 has no minor part of size 2}}
  %0 = shoal.split %x {dim = 0, num_partitions = 2} : tensor<16xf32>
  return
}

// -----

// (A2): whole minor axes, or part of the next, are well.
shoal.mesh @mesh = <["a" = 4, "b" = 3]>
func.func @partitions_are_minor_axes(%x: tensor<16xf32>) {
  %0 = shoal.split %x {dim = 0, num_partitions = 1} : tensor<16xf32>
  %1 = shoal.split %0 {dim = 0, num_partitions = 3} : tensor<16xf32>
  %2 = shoal.split %1 {dim = 0, num_partitions = 6} : tensor<16xf32>
  %3 = shoal.split %2 {dim = 0, num_partitions = 12} : tensor<16xf32>
  return
}

// -----

// (A3)
func.func @device_assignment_of_another_rank(%x: tensor<16x4xf32>) {
  // expected-error@+1 {{device_assignment: expected rank 2, or 3 to replicate, but got rank 1}}
  %0 = shoal.shard %x {device_assignment = dense<[0, 1]> : tensor<2xi64>} : tensor<16x4xf32>
  return
}

// -----

// (A4)
// expected-note@+1 {{the mesh is defined here}}
shoal.mesh @mesh = <["x" = 4]>
func.func @device_assignment_repeats_a_device(%x: tensor<16x4xf32>) {
  // expected-error@+1 {{device_assignment: device 2 occurs twice}}
  %0 = shoal.shard %x {device_assignment = dense<[[0, 2], [2, 3]]> : tensor<2x2xi64>} : tensor<16x4xf32>
  return
}

// -----

// (A4)
// expected-note@+1 {{the mesh is defined here}}
shoal.mesh @mesh = <["x" = 4]>
func.func @device_assignment_names_an_unknown_device(%x: tensor<16x4xf32>) {
  // expected-error@+1 {{device_assignment: device 4 is not in 0 to 3}}
  %0 = shoal.shard %x {device_assignment = dense<[[0, 1], [2, 4]]> : tensor<2x2xi64>} : tensor<16x4xf32>
  return
}

// -----

// (A4)
// expected-note@+1 {{the mesh is defined here}}
shoal.mesh @mesh = <["x" = 4]>
func.func @device_assignment_leaves_devices_out(%x: tensor<16xf32>) {
  // expected-error@+1 {{device_assignment: expected 4 devices, as mesh @mesh has, but got 2}}
  %0 = shoal.shard %x {device_assignment = dense<[0, 1]> : tensor<2xi64>} : tensor<16xf32>
  return
}

// -----

// (A4), also where there is no mesh.
func.func @device_assignment_of_one_value(%x: tensor<16xf32>) {
  // expected-error@+1 {{device_assignment: device 0 occurs twice}}
  %0 = shoal.shard %x {device_assignment = dense<0> : tensor<2xi64>} : tensor<16xf32>
  return
}

// -----

// (A5)
// expected-note@+1 {{the mesh is defined here}}
shoal.mesh @mesh = <["x" = 4]>
func.func @constraint_with_an_unknown_axis(%x: tensor<16xf32>) {
  // expected-error@+1 {{dim 0: unknown axis "y" in mesh @mesh}}
  %0 = shoal.sharding_constraint %x <@mesh, [{"y"}]> : tensor<16xf32>
  return
}

// -----

// (A5), (S4)
shoal.mesh @mesh = <["x" = 4]>
func.func @constraint_of_addends_of_truth_values(%x: tensor<16xi1>) {
  // expected-error@+1 {{partial over axis "x": elements of 'i1' are no addends of a sum}}
  %0 = shoal.sharding_constraint %x <@mesh, [{}], partial = {"x"}> : tensor<16xi1>
  return
}

// -----

// (A5), (S4)
shoal.mesh @mesh = <["x" = 4]>
func.func @constraint_of_addends_of_eight_bits(%x: tensor<16xf8E5M2>) {
  // expected-error@+1 {{partial over axis "x": elements of 'f8E5M2' are no addends of a sum}}
  %0 = shoal.sharding_constraint %x <@mesh, [{}], partial = {"x"}> : tensor<16xf8E5M2>
  return
}

// -----

// (A5), (S2)
shoal.mesh @mesh = <["x" = 4]>
func.func @constraint_of_addends_over_an_axis_that_splits(%x: tensor<16xf32>) {
  // expected-error@+1 {{axis "x"}}
  %0 = shoal.sharding_constraint %x <@mesh, [{"x"}], partial = {"x"}> : tensor<16xf32>
  return
}

// -----

// (R1)
shoal.mesh @mesh = <["x" = 4]>
func.func @reshard_of_another_rank(%x: tensor<16xf32>) {
  // expected-error@+1 {{target: sharding has 2 dimensions but the tensor has 1}}
  %0 = shoal.reshard %x <@mesh, [{"x"}]> -> <@mesh, [{"x"}, {}]> : tensor<16xf32>
  return
}

// -----

// (R1)
shoal.mesh @mesh = <["x" = 4]>
func.func @reshard_from_an_open_dimension(%x: tensor<16xf32>) {
  // expected-error@+1 {{source: expected no open dimension}}
  %0 = shoal.reshard %x <@mesh, [{?}]> -> <@mesh, [{"x"}]> : tensor<16xf32>
  return
}

// -----

// (R2)
// expected-note@+1 {{the source's mesh is defined here}}
shoal.mesh @mesh = <["x" = 4]>
// expected-note@+1 {{the target's mesh is defined here}}
shoal.mesh @other = <["x" = 2, "y" = 2]>
func.func @reshard_between_meshes(%x: tensor<16xf32>) {
  // expected-error@+1 {{target: mesh @other has other axes than mesh @mesh of the source}}
  %0 = shoal.reshard %x <@mesh, [{"x"}]> -> <@other, [{"x"}]> : tensor<16xf32>
  return
}

// -----

// expected-error @below {{role "tp": "y" is not an axis of the mesh}}
shoal.mesh @mesh = <["x" = 4]> {shoal.roles = {tp = ["y"]}}

// -----

// expected-error @below {{role "tp": expected a list of axes' names}}
shoal.mesh @mesh = <["x" = 4]> {shoal.roles = {tp = "x"}}

// -----

// expected-error @below {{expected shoal.roles to be a dictionary on a mesh}}
shoal.mesh @mesh = <["x" = 4]> {shoal.roles = ["x"]}
