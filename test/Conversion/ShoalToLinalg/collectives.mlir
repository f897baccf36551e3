// RUN: shoal-opt %s --shoal-to-linalg | FileCheck %s

// The descriptors of shoal/Runtime/ABI.h. Collectives are numbered in program
// order, axis_index and all_slice are not; the meshes and what the arguments
// say of themselves are gone.

shoal.mesh @line = <["x" = 4]>
shoal.mesh @grid = <["a" = 2, "b" = 2], device_ids = [0, 2, 1, 3]>

// CHECK-NOT: shoal.mesh
// CHECK-LABEL: @f
// CHECK-NOT: shoal.name
func.func @f(%x: tensor<8x6xf32> {shoal.name = "x"}) -> tensor<2x6xf32> attributes {shoal.spmd} {
  // mesh 1; one axis: number 1, pre 1, size 2
  // CHECK: rt.call "axis_index" [1, 1, 1, 1, 2] outs({{.*}} : tensor<i32>)
  %i = spmd.axis_index @grid {"b"} : tensor<i32>
  // id -1, f32, mesh 0, rank 2, shapes; dim 0: x, dim 1: none
  // CHECK: rt.call "all_slice" [-1, 0, 0, 2, 8, 6, 2, 6, 1, 0, 1, 4, 0]
  %s = spmd.all_slice @line [{"x"}, {}] %x : tensor<8x6xf32> -> tensor<2x6xf32>
  // id 0; the sub-axis of size 2 behind a part of size 2
  // CHECK: rt.call "all_gather" [0, 0, 0, 2, 2, 6, 4, 6, 1, 0, 2, 2, 0]
  %g = spmd.all_gather @line [{"x":(2)2}, {}] %s : tensor<2x6xf32> -> tensor<4x6xf32>
  // id 1, f32, mesh 0, max, 24 elements
  // CHECK: rt.call "all_reduce" [1, 0, 0, 2, 24, 1, 0, 1, 4]
  %r = spmd.all_reduce max @line {"x"} %g : tensor<4x6xf32>
  // id 2, f32, mesh 1, sum
  // CHECK: rt.call "reduce_scatter" [2, 0, 1, 0, 2, 4, 6, 2, 3, 1, 0, 1, 2, 1, 1, 1, 2]
  %c = spmd.reduce_scatter sum @grid [{"a"}, {"b"}] %r : tensor<4x6xf32> -> tensor<2x3xf32>
  // id 3; one move from dim 1 to dim 0 over b
  // CHECK: rt.call "all_to_all" [3, 0, 1, 2, 2, 3, 1, 6, 1, 1, 0, 1, 1, 1, 2]
  %t = spmd.all_to_all @grid [{"b"} : 1 -> 0] %c : tensor<2x3xf32> -> tensor<1x6xf32>
  // id 4, mesh 1 to mesh 1, 6 elements, no shift; both lists
  // CHECK: rt.call "collective_permute" [4, 0, 1, 1, 6, 0, 2, 0, 1, 2, 1, 1, 2, 2, 1, 1, 2, 0, 1, 2]
  %p = spmd.collective_permute @grid {"a", "b"} -> @grid {"b", "a"} %t : tensor<1x6xf32>
  %y = shoal.concatenate %p, %t dim = 0 : (tensor<1x6xf32>, tensor<1x6xf32>) -> tensor<2x6xf32>
  return %y : tensor<2x6xf32>
}
