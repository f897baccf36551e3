// RUN: shoal-opt %s -split-input-file -verify-diagnostics

// axis_index (C1)
shoal.mesh @mesh = <["x" = 2]>
func.func @index_is_i32(%x: memref<i64>) {
  // expected-error@+1 {{expected a scalar of i32 but got 'memref<i64>'}}
  rt.axis_index @mesh {"x"} outs(%x : memref<i64>)
  return
}

// -----

// axis_index (C1)
shoal.mesh @mesh = <["x" = 2]>
func.func @index_is_a_scalar(%x: memref<1xi32>) {
  // expected-error@+1 {{expected a scalar of i32 but got 'memref<1xi32>'}}
  rt.axis_index @mesh {"x"} outs(%x : memref<1xi32>)
  return
}

// -----

// all_gather (C1)
shoal.mesh @mesh = <["x" = 2]>
func.func @axes_missing(%x: memref<2x2xf32>, %y: memref<4x2xf32>) {
  // expected-error@+1 {{axes: expected an entry for each of 2 dimensions but got 1}}
  rt.all_gather @mesh [{"x"}] ins(%x : memref<2x2xf32>) outs(%y : memref<4x2xf32>)
  return
}

// -----

// all_gather (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @block_size(%x: memref<3xf32>, %y: memref<4xf32>) {
  // expected-error@+1 {{expected blocks of 'memref<4xf32>' to be 'memref<2xf32>' but got 'memref<3xf32>'}}
  rt.all_gather @mesh [{"x"}] ins(%x : memref<3xf32>) outs(%y : memref<4xf32>)
  return
}

// -----

// all_gather (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @gathers_its_elements(%x: memref<2xf32>, %y: memref<4xi32>) {
  // expected-error@+1 {{expected an output of 'i32' but got 'f32'}}
  rt.all_gather @mesh [{"x"}] ins(%x : memref<2xf32>) outs(%y : memref<4xi32>)
  return
}

// -----

// all_slice (C1)
shoal.mesh @mesh = <["x" = 2]>
func.func @more_axes_than_dims(%x: memref<4xf32>, %y: memref<2xf32>) {
  // expected-error@+1 {{axes: expected an entry for each of 1 dimensions but got 2}}
  rt.all_slice @mesh [{"x"}, {}] ins(%x : memref<4xf32>) outs(%y : memref<2xf32>)
  return
}

// -----

// all_slice (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @block_type(%x: memref<4xf32>, %y: memref<2xbf16>) {
  // expected-error@+1 {{expected an output of 'f32' but got 'bf16'}}
  rt.all_slice @mesh [{"x"}] ins(%x : memref<4xf32>) outs(%y : memref<2xbf16>)
  return
}

// -----

// all_slice (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @blocks_of_another_rank(%x: memref<4xf32>, %y: memref<2x1xf32>) {
  // expected-error@+1 {{expected blocks of 'memref<4xf32>' to be 'memref<2xf32>' but got 'memref<2x1xf32>'}}
  rt.all_slice @mesh [{"x"}] ins(%x : memref<4xf32>) outs(%y : memref<2x1xf32>)
  return
}

// -----

// all_reduce (C1)
shoal.mesh @mesh = <["x" = 2]>
func.func @other_shape(%x: memref<4xf32>, %y: memref<2x2xf32>) {
  // expected-error@+1 {{expected input and output of one shape but got 'memref<4xf32>' and 'memref<2x2xf32>'}}
  rt.all_reduce sum @mesh {"x"} ins(%x : memref<4xf32>) outs(%y : memref<2x2xf32>)
  return
}

// -----

// all_reduce (C1)
shoal.mesh @mesh = <["x" = 2]>
func.func @reduces_its_elements(%x: memref<4xf32>, %y: memref<4xi32>) {
  // expected-error@+1 {{expected an output of 'f32' but got 'i32'}}
  rt.all_reduce sum @mesh {"x"} ins(%x : memref<4xf32>) outs(%y : memref<4xi32>)
  return
}

// -----

// all_reduce (C2), reduce_scatter (C3)
shoal.mesh @mesh = <["x" = 2]>
func.func @bits_of_floats(%x: memref<4xf32>, %y: memref<2xf32>) {
  // expected-error@+1 {{or: expected integers but got 'f32'}}
  rt.reduce_scatter or @mesh [{"x"}] ins(%x : memref<4xf32>) outs(%y : memref<2xf32>)
  return
}

// -----

// all_reduce (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @sum_of_bits(%x: memref<4xi1>) {
  // expected-error@+1 {{sum: expected numbers but got i1}}
  rt.all_reduce sum @mesh {"x"} ins(%x : memref<4xi1>) outs(%x : memref<4xi1>)
  return
}

// -----

// reduce_scatter (C1)
shoal.mesh @mesh = <["x" = 2]>
func.func @axes_missing_of_scatter(%x: memref<2x2xf32>) {
  // expected-error@+1 {{axes: expected an entry for each of 2 dimensions but got 1}}
  rt.reduce_scatter sum @mesh [{"x"}] ins(%x : memref<2x2xf32>) outs(%x : memref<2x2xf32>)
  return
}

// -----

// reduce_scatter (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @part_size(%x: memref<5xf32>, %y: memref<2xf32>) {
  // expected-error@+1 {{expected blocks of 'memref<5xf32>' to be 'memref<3xf32>' but got 'memref<2xf32>'}}
  rt.reduce_scatter sum @mesh [{"x"}] ins(%x : memref<5xf32>) outs(%y : memref<2xf32>)
  return
}

// -----

// all_to_all (C1)
shoal.mesh @mesh = <["x" = 2]>
func.func @same_dim(%x: memref<4x2xf32>) {
  // expected-error@+1 {{moves[0]: dimension 1 is both source and target}}
  rt.all_to_all @mesh [{"x"} : 1 -> 1] ins(%x : memref<4x2xf32>) outs(%x : memref<4x2xf32>)
  return
}

// -----

// all_to_all (C1)
shoal.mesh @mesh = <["x" = 2]>
func.func @no_move(%x: memref<4x2xf32>) {
  // expected-error@+1 {{expected a move}}
  rt.all_to_all @mesh [] ins(%x : memref<4x2xf32>) outs(%x : memref<4x2xf32>)
  return
}

// -----

// all_to_all (C1)
shoal.mesh @mesh = <["x" = 2]>
func.func @no_such_dim(%x: memref<4x2xf32>) {
  // expected-error@+1 {{moves[0]: 2 is not a dimension of a tensor of rank 2}}
  rt.all_to_all @mesh [{"x"} : 0 -> 2] ins(%x : memref<4x2xf32>) outs(%x : memref<4x2xf32>)
  return
}

// -----

// all_to_all (C3)
shoal.mesh @mesh = <["x" = 2, "y" = 2]>
func.func @through_a_dimension(%x: memref<2x4x2xf32>, %y: memref<4x2x2xf32>) {
  // expected-error@+1 {{moves: axes leave dimension 2 and others come to it, in one exchange}}
  rt.all_to_all @mesh [{"x"} : 0 -> 2, {"y"} : 2 -> 1] ins(%x : memref<2x4x2xf32>) outs(%y : memref<4x2x2xf32>)
  return
}

// -----

// all_to_all (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @other_rank(%x: memref<4x2xf32>, %y: memref<8xf32>) {
  // expected-error@+1 {{the output: expected rank 2 but got 1}}
  rt.all_to_all @mesh [{"x"} : 0 -> 1] ins(%x : memref<4x2xf32>) outs(%y : memref<8xf32>)
  return
}

// -----

// all_to_all (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @moves_its_elements(%x: memref<2x8xf32>, %y: memref<4x4xi32>) {
  // expected-error@+1 {{the output: expected elements of type 'f32' but got 'i32'}}
  rt.all_to_all @mesh [{"x"} : 0 -> 1] ins(%x : memref<2x8xf32>) outs(%y : memref<4x4xi32>)
  return
}

// -----

// all_to_all (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @not_those_sizes(%x: memref<2x8xf32>, %y: memref<9x4xf32>) {
  // expected-error@+1 {{the output dim 0: size 9 is not that of 2 rows a device, gathered from 2 devices and split over 1}}
  rt.all_to_all @mesh [{"x"} : 0 -> 1] ins(%x : memref<2x8xf32>) outs(%y : memref<9x4xf32>)
  return
}

// -----

// collective_permute (C1)
shoal.mesh @mesh = <["x" = 2]>
func.func @sends_its_shape(%x: memref<4xf32>, %y: memref<5xf32>) {
  // expected-error@+1 {{expected input and output of one shape but got 'memref<4xf32>' and 'memref<5xf32>'}}
  rt.collective_permute @mesh {"x"} -> @mesh {"x"} ins(%x : memref<4xf32>) outs(%y : memref<5xf32>)
  return
}

// -----

// collective_permute (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @shift(%x: memref<4xf32>) {
  // expected-error@+1 {{shift 2 is not in the range [0, 2) of the indices over {"x"}}}
  rt.collective_permute @mesh {"x"} -> @mesh {"x"} ins(%x : memref<4xf32>) outs(%x : memref<4xf32>) {shift = 2 : i64}
  return
}

// -----

// collective_permute (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @receives_twice(%x: memref<4xf32>, %y: memref<4xf32>) {
  // expected-error@+1 {{pairs[3]: index 1 is a target for the second time}}
  rt.collective_permute @mesh {"x"} -> @mesh {"x"} ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) {pairs = array<i64: 0, 1, 1, 1>}
  return
}

// -----

// collective_permute (C3)
// expected-note@+1 {{the source mesh is defined here}}
shoal.mesh @mesh = <["x" = 2]>
// expected-note@+1 {{the target mesh is defined here}}
shoal.mesh @grid = <["x" = 2, "y" = 3]>
func.func @permute_to_another_mesh(%x: memref<4xf32>) {
  // expected-error@+1 {{mesh @grid has other axes than mesh @mesh}}
  rt.collective_permute @mesh {"x"} -> @grid {"x"} ins(%x : memref<4xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

// collective_permute (C3)
shoal.mesh @grid = <["x" = 2, "y" = 3]>
func.func @permute_to_other_axes(%x: memref<4xf32>) {
  // expected-error@+1 {{source axes {"x"} and target axes {"y"} are not the same in another order}}
  rt.collective_permute @grid {"x"} -> @grid {"y"} ins(%x : memref<4xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

// wait (C1)
func.func @waits_for_none() {
  // expected-error@+1 {{expected a number of at least 0 but got -1}}
  rt.wait -1
  return
}

// -----

// ragged_all_to_all (C1)
shoal.mesh @mesh = <["x" = 2]>
func.func @ragged_rows(%x: memref<3x4xf32>, %y: memref<3x5xf32>, %i: memref<2xi32>) {
  // expected-error@+1 {{expected rows of 'memref<3x4xf32>' to go to rows like them but got 'memref<3x5xf32>'}}
  rt.ragged_all_to_all @mesh {"x"} ins(%x, %i, %i, %i, %i : memref<3x4xf32>, memref<2xi32>, memref<2xi32>, memref<2xi32>, memref<2xi32>) outs(%y : memref<3x5xf32>)
  return
}

// -----

// ragged_all_to_all (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @ragged_sizes(%x: memref<3x4xf32>, %i: memref<3xi32>) {
  // expected-error@+1 {{3 offsets and sizes are not the same number for each of 2 devices}}
  rt.ragged_all_to_all @mesh {"x"} ins(%x, %i, %i, %i, %i : memref<3x4xf32>, memref<3xi32>, memref<3xi32>, memref<3xi32>, memref<3xi32>) outs(%x : memref<3x4xf32>)
  return
}

// -----

// ragged_all_to_all (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @ragged_lists_differ(%x: memref<3x4xf32>, %i: memref<2xi32>, %j: memref<4xi32>) {
  // expected-error@+1 {{expected input and output of one shape but got 'memref<2xi32>' and 'memref<4xi32>'}}
  rt.ragged_all_to_all @mesh {"x"} ins(%x, %i, %i, %j, %i : memref<3x4xf32>, memref<2xi32>, memref<2xi32>, memref<4xi32>, memref<2xi32>) outs(%x : memref<3x4xf32>)
  return
}
