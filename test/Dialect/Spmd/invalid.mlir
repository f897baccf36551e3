// RUN: shoal-opt %s -split-input-file -verify-diagnostics

// The laws of all collectives (P), then those of each (C).

// (P1)
func.func @unknown_mesh() {
  // expected-error@+1 {{unknown mesh @mesh}}
  %0 = spmd.axis_index @mesh {"x"} : tensor<i32>
  return
}

// -----

// A mesh op that is itself malformed is reported once.
func.func @mesh_without_axes() {
  %0 = spmd.axis_index @mesh {"x"} : tensor<i32>
  return
}
// expected-error@+1 {{requires attribute 'mesh'}}
"shoal.mesh"() {sym_name = "mesh"} : () -> ()

// -----

// (P2)
// expected-note@+1 {{the mesh is defined here}}
shoal.mesh @mesh = <["x" = 4]>
func.func @unknown_axis(%x: tensor<4xf32>) {
  // expected-error@+1 {{unknown axis "y" in mesh @mesh}}
  %0 = spmd.all_reduce sum @mesh {"x", "y"} %x : tensor<4xf32>
  return
}

// -----

// (P2)
shoal.mesh @mesh = <["x" = 4]>
func.func @axis_twice_in_two_dimensions(%x: tensor<4x4xf32>) {
  // expected-error@+1 {{axis "x" is used twice}}
  %0 = spmd.all_slice @mesh [{"x"}, {"x":(1)2}] %x : tensor<4x4xf32> -> tensor<1x2xf32>
  return
}

// -----

// (P2)
shoal.mesh @mesh = <["x" = 4]>
func.func @axis_twice_in_two_moves(%x: tensor<4x4xf32>) {
  // expected-error@+1 {{axis "x" is used twice}}
  %0 = spmd.all_to_all @mesh [{"x"} : 0 -> 1, {"x"} : 0 -> 1] %x : tensor<4x4xf32> -> tensor<16x1xf32>
  return
}

// -----

// (P2)
shoal.mesh @mesh = <["x" = 6]>
func.func @sub_axis_does_not_divide() {
  // expected-error@+1 {{sub-axis (2)2 does not divide axis "x" of size 6}}
  %0 = spmd.axis_index @mesh {"x":(2)2} : tensor<i32>
  return
}

// -----

// (C1)
shoal.mesh @mesh = <["x" = 2]>
func.func @all_slice_lists(%x: tensor<4x6xf32>) {
  // expected-error@+1 {{axes: expected an entry for each of 2 dimensions but got 1}}
  %0 = spmd.all_slice @mesh [{"x"}] %x : tensor<4x6xf32> -> tensor<2x6xf32>
  return
}

// -----

// (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @all_slice_size(%x: tensor<5x6xf32>) {
  // expected-error@+1 {{result 0 dim 0: expected size 3 but got 2}}
  %0 = spmd.all_slice @mesh [{"x"}, {}] %x : tensor<5x6xf32> -> tensor<2x6xf32>
  return
}

// -----

// (C1)
shoal.mesh @mesh = <["x" = 2]>
func.func @all_gather_lists(%x: tensor<4x6xf32>) {
  // expected-error@+1 {{axes: expected an entry for each of 2 dimensions but got 3}}
  %0 = spmd.all_gather @mesh [{"x"}, {}, {}] %x : tensor<4x6xf32> -> tensor<8x6xf32>
  return
}

// -----

// (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @all_gather_size(%x: tensor<3x6xf32>) {
  // expected-error@+1 {{operand 0 dim 0: expected size 4 but got 3}}
  %0 = spmd.all_gather @mesh [{"x"}, {}] %x : tensor<3x6xf32> -> tensor<7x6xf32>
  return
}

// -----

// (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @all_gather_type(%x: tensor<3x6xf32>) {
  // expected-error@+1 {{operand 0: expected elements of type 'f64' but got 'f32'}}
  %0 = spmd.all_gather @mesh [{"x"}, {}] %x : tensor<3x6xf32> -> tensor<6x6xf64>
  return
}

// -----

// (C1)
shoal.mesh @mesh = <["x" = 2]>
func.func @all_reduce_combiner(%x: tensor<4xf32>) {
  // expected-error@+1 {{and: expected integers but got 'f32'}}
  %0 = spmd.all_reduce and @mesh {"x"} %x : tensor<4xf32>
  return
}

// -----

// (C1)
shoal.mesh @mesh = <["x" = 2]>
func.func @reduce_scatter_lists(%x: tensor<4x6xf32>) {
  // expected-error@+1 {{axes: expected an entry for each of 2 dimensions but got 0}}
  %0 = spmd.reduce_scatter sum @mesh [] %x : tensor<4x6xf32> -> tensor<2x6xf32>
  return
}

// -----

// (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @reduce_scatter_rank(%x: tensor<4x6xf32>) {
  // expected-error@+1 {{result 0: expected rank 2 but got 1}}
  %0 = spmd.reduce_scatter sum @mesh [{"x"}, {}] %x : tensor<4x6xf32> -> tensor<2xf32>
  return
}

// -----

// (C3)
shoal.mesh @mesh = <["x" = 2]>
func.func @reduce_scatter_combiner(%x: tensor<4x6xi1>) {
  // expected-error@+1 {{sum: expected numbers but got i1}}
  %0 = spmd.reduce_scatter sum @mesh [{"x"}, {}] %x : tensor<4x6xi1> -> tensor<2x6xi1>
  return
}

// -----

// (C1)
shoal.mesh @mesh = <["x" = 2]>
func.func @all_to_all_dimension(%x: tensor<1x4xf32>) {
  // expected-error@+1 {{moves[0]: 2 is not a dimension of a tensor of rank 2}}
  %0 = spmd.all_to_all @mesh [{"x"} : 0 -> 2] %x : tensor<1x4xf32> -> tensor<2x2xf32>
  return
}

// -----

// (C1)
shoal.mesh @mesh = <["x" = 2]>
func.func @all_to_all_to_itself(%x: tensor<1x4xf32>) {
  // expected-error@+1 {{moves[0]: dimension 1 is both source and target}}
  %0 = spmd.all_to_all @mesh [{"x"} : 1 -> 1] %x : tensor<1x4xf32> -> tensor<1x4xf32>
  return
}

// -----

// (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @all_to_all_gathered_size(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{result 0 dim 0: size 5 is not that of 2 rows a device, gathered from 2 devices and split over 1}}
  %0 = spmd.all_to_all @mesh [{"x"} : 0 -> 1] %x : tensor<2x4xf32> -> tensor<5x2xf32>
  return
}

// -----

// (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @all_to_all_split_size(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{result 0 dim 1: size 3 is not that of 4 rows a device, gathered from 1 devices and split over 2}}
  %0 = spmd.all_to_all @mesh [{"x"} : 0 -> 1] %x : tensor<2x4xf32> -> tensor<4x3xf32>
  return
}

// -----

// (C3)
shoal.mesh @mesh = <["x" = 2, "y" = 2]>
func.func @all_to_all_through_a_dimension(%x: tensor<2x4x2xf32>) {
  // expected-error@+1 {{moves: axes leave dimension 2 and others come to it, in one exchange}}
  %0 = spmd.all_to_all @mesh [{"x"} : 0 -> 2, {"y"} : 2 -> 1] %x : tensor<2x4x2xf32> -> tensor<4x2x2xf32>
  return
}

// -----

// (C2): 2 rows on each of 2 devices are 3 or 4 rows.
shoal.mesh @mesh = <["x" = 2]>
func.func @all_to_all_of_uneven_dimensions(%x: tensor<2x5xf32>) {
  %0 = spmd.all_to_all @mesh [{"x"} : 0 -> 1] %x : tensor<2x5xf32> -> tensor<3x3xf32>
  %1 = spmd.all_to_all @mesh [{"x"} : 0 -> 1] %x : tensor<2x5xf32> -> tensor<4x3xf32>
  return
}

// -----

// (C1)
// expected-note@+1 {{the source mesh is defined here}}
shoal.mesh @mesh = <["x" = 4]>
// expected-note@+1 {{the target mesh is defined here}}
shoal.mesh @other = <["x" = 2]>
func.func @collective_permute_between_meshes(%x: tensor<4xf32>) {
  // expected-error@+1 {{mesh @other has other axes than mesh @mesh}}
  %0 = spmd.collective_permute @mesh {"x"} -> @other {"x"} %x : tensor<4xf32>
  return
}

// -----

// (C2)
shoal.mesh @mesh = <["x" = 2, "y" = 2]>
func.func @collective_permute_of_other_axes(%x: tensor<4xf32>) {
  // expected-error@+1 {{source axes {"x"} and target axes {"y"} are not the same in another order}}
  %0 = spmd.collective_permute @mesh {"x"} -> @mesh {"y"} %x : tensor<4xf32>
  return
}

// -----

// (C3)
shoal.mesh @mesh = <["x" = 2, "y" = 3]>
func.func @collective_permute_once_around(%x: tensor<4xf32>) {
  // expected-error@+1 {{shift 6 is not in the range [0, 6) of the indices over {"x", "y"}}}
  %0 = spmd.collective_permute @mesh {"x", "y"} -> @mesh {"x", "y"} %x {shift = 6} : tensor<4xf32>
  return
}

// -----

// (C3)
shoal.mesh @mesh = <["x" = 2]>
func.func @collective_permute_backwards(%x: tensor<4xf32>) {
  // expected-error@+1 {{shift -1 is not in the range [0, 2)}}
  %0 = spmd.collective_permute @mesh {"x"} -> @mesh {"x"} %x {shift = -1} : tensor<4xf32>
  return
}

// -----

// (C4)
shoal.mesh @mesh = <["x" = 2, "y" = 2]>
func.func @collective_permute_of_half_a_pair(%x: tensor<4xf32>) {
  // expected-error@+1 {{pairs: 3 indices are no pairs of a source and a target}}
  %0 = spmd.collective_permute @mesh {"x", "y"} -> @mesh {"x", "y"} %x {pairs = array<i64: 0, 1, 1>} : tensor<4xf32>
  return
}

// -----

// (C4)
shoal.mesh @mesh = <["x" = 2, "y" = 2]>
func.func @collective_permute_to_no_device(%x: tensor<4xf32>) {
  // expected-error@+1 {{pairs[1]: index 4 is not in the range [0, 4)}}
  %0 = spmd.collective_permute @mesh {"x", "y"} -> @mesh {"x", "y"} %x {pairs = array<i64: 0, 4>} : tensor<4xf32>
  return
}

// -----

// (C4)
shoal.mesh @mesh = <["x" = 2, "y" = 2]>
func.func @collective_permute_from_no_device(%x: tensor<4xf32>) {
  // expected-error@+1 {{pairs[2]: index -1 is not in the range [0, 4)}}
  %0 = spmd.collective_permute @mesh {"x", "y"} -> @mesh {"x", "y"} %x {pairs = array<i64: 0, 1, -1, 0>} : tensor<4xf32>
  return
}

// -----

// (C4)
shoal.mesh @mesh = <["x" = 2, "y" = 2]>
func.func @collective_permute_of_one_that_sends_twice(%x: tensor<4xf32>) {
  // expected-error@+1 {{pairs[2]: index 1 is a source for the second time}}
  %0 = spmd.collective_permute @mesh {"x", "y"} -> @mesh {"x", "y"} %x {pairs = array<i64: 1, 0, 1, 2>} : tensor<4xf32>
  return
}

// -----

// (C4)
shoal.mesh @mesh = <["x" = 2, "y" = 2]>
func.func @collective_permute_of_one_that_receives_twice(%x: tensor<4xf32>) {
  // expected-error@+1 {{pairs[5]: index 0 is a target for the second time}}
  %0 = spmd.collective_permute @mesh {"x", "y"} -> @mesh {"x", "y"} %x {pairs = array<i64: 1, 0, 2, 1, 0, 0>} : tensor<4xf32>
  return
}

// -----

// (C4)
shoal.mesh @mesh = <["x" = 2, "y" = 2]>
func.func @collective_permute_of_pairs_that_are_shifted(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected pairs or a shift but got both, pairs and shift 1}}
  %0 = spmd.collective_permute @mesh {"x", "y"} -> @mesh {"x", "y"} %x {pairs = array<i64: 1, 0>, shift = 1} : tensor<4xf32>
  return
}

// -----

// (C2)
shoal.mesh @mesh = <["x" = 8]>
func.func @collective_permute_of_part_of_an_axis(%x: tensor<4xf32>) {
  // expected-error@+1 {{are not the same in another order}}
  %0 = spmd.collective_permute @mesh {"x":(1)2, "x":(4)2} -> @mesh {"x"} %x : tensor<4xf32>
  return
}
