// RUN: shoal-opt %s --shoal-to-linalg | FileCheck %s

// Collectives are numbered in program order, axis_index and all_slice are not;
// what the arguments say of themselves is gone. The meshes stay for the
// descriptors.

shoal.mesh @line = <["x" = 4]>
shoal.mesh @grid = <["a" = 2, "b" = 2], device_ids = [0, 2, 1, 3]>

// CHECK-LABEL: @f
// CHECK-NOT: shoal.name
func.func @f(%x: tensor<8x6xf32> {shoal.name = "x"}) -> tensor<2x6xf32> attributes {shoal.spmd} {
  // CHECK: rt.axis_index @grid {"b"} outs({{.*}} : tensor<i32>)
  %i = spmd.axis_index @grid {"b"} : tensor<i32>
  // CHECK: rt.all_slice @line [{"x"}, {}] ins(%arg0 : tensor<8x6xf32>) outs({{.*}} : tensor<2x6xf32>) ->
  %s = spmd.all_slice @line [{"x"}, {}] %x : tensor<8x6xf32> -> tensor<2x6xf32>
  // CHECK: rt.all_gather @line [{"x":(2)2}, {}] {{.*}} {collective = 0 : i64}
  %g = spmd.all_gather @line [{"x":(2)2}, {}] %s : tensor<2x6xf32> -> tensor<4x6xf32>
  // CHECK: rt.all_reduce max @line {"x"} {{.*}} {collective = 1 : i64}
  %r = spmd.all_reduce max @line {"x"} %g : tensor<4x6xf32>
  // CHECK: rt.reduce_scatter sum @grid [{"a"}, {"b"}] {{.*}} {collective = 2 : i64}
  %c = spmd.reduce_scatter sum @grid [{"a"}, {"b"}] %r : tensor<4x6xf32> -> tensor<2x3xf32>
  // CHECK: rt.all_to_all @grid [{"b"} : 1 -> 0] {{.*}} {collective = 3 : i64}
  %t = spmd.all_to_all @grid [{"b"} : 1 -> 0] %c : tensor<2x3xf32> -> tensor<1x6xf32>
  // CHECK: rt.collective_permute @grid {"a", "b"} -> @grid {"b", "a"} {{.*}} {collective = 4 : i64}
  %p = spmd.collective_permute @grid {"a", "b"} -> @grid {"b", "a"} %t : tensor<1x6xf32>
  // One dimension, in windows of 3 rows that begin one before the block.
  // CHECK: rt.exchange @line -> @line
  // CHECK-SAME: #rt.exchange_dim<size = 4, step = 1, offset = -1, rows = 3, source = {"x"}, target = {"x"}>
  // CHECK-SAME: #rt.exchange_dim<size = 6, rows = 6, source = {}, target = {}>
  // CHECK-SAME: halo {{.*}} {collective = 5 : i64}
  %h = spmd.halo_exchange @line {"x"} %p {dim = 0, size = 4, step = 1, offset = -1} : tensor<1x6xf32> -> tensor<3x6xf32>
  // Rows of four devices become columns of two.
  // CHECK: rt.exchange @line -> @line
  // CHECK-SAME: #rt.exchange_dim<size = 4, step = 4, rows = 4, source = {"x"}, target = {}>
  // CHECK-SAME: #rt.exchange_dim<size = 6, step = 3, rows = 3, source = {}, target = {"x":(1)2}>
  // CHECK-NOT: halo
  // CHECK-SAME: {collective = 6 : i64}
  %e = spmd.exchange @line [{"x"}, {}] -> @line [{}, {"x":(1)2}] %p shape = [4, 6] : tensor<1x6xf32> -> tensor<4x3xf32>
  %y = shoal.concatenate %p, %t dim = 0 : (tensor<1x6xf32>, tensor<1x6xf32>) -> tensor<2x6xf32>
  return %y : tensor<2x6xf32>
}
