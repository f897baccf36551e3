// RUN: shoalc %s --emit=spmd | FileCheck %s

// The axes are cut by the reshape: of the four parts of "x" two go to each of
// its first dimensions. The result lies so, and nothing is sent.

shoal.mesh @mesh = <["x" = 4, "y" = 2]>

// CHECK-LABEL: @one_axis
// CHECK-NOT: spmd.{{all_gather|all_to_all|collective_permute}}
// CHECK: shoal.reshape %{{.*}} : tensor<4x3xf32> -> tensor<1x4x3xf32>
// CHECK-NOT: spmd.{{all_gather|all_to_all|collective_permute}}
func.func @one_axis(%x: tensor<16x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> tensor<2x8x3xf32> {
  %0 = shoal.reshape %x : tensor<16x3xf32> -> tensor<2x8x3xf32>
  return %0 : tensor<2x8x3xf32>
}
