// RUN: shoal-opt %s --shoal-simplify-collectives | FileCheck %s

// Regions for one device may repeat an axis, which no one collective does: to
// gather over "x" what was gathered over "x" gives every row twice.
shoal.mesh @mesh = <["x" = 2, "y" = 2]>

// CHECK-LABEL: @gathers
// CHECK: spmd.all_gather @mesh [{"x"}] %arg0 : tensor<2xi32> -> tensor<4xi32>
// CHECK-NEXT: spmd.all_gather @mesh [{"x", "y"}] {{.*}} : tensor<4xi32> -> tensor<16xi32>
func.func private @gathers(%a: tensor<2xi32>) -> tensor<16xi32> attributes {shoal.spmd} {
  %0 = spmd.all_gather @mesh [{"x"}] %a : tensor<2xi32> -> tensor<4xi32>
  %1 = spmd.all_gather @mesh [{"y"}] %0 : tensor<4xi32> -> tensor<8xi32>
  %2 = spmd.all_gather @mesh [{"x"}] %1 : tensor<8xi32> -> tensor<16xi32>
  return %2 : tensor<16xi32>
}

// CHECK-LABEL: @slices
// CHECK: spmd.all_slice @mesh [{"x"}, {}]
// CHECK-NEXT: spmd.all_slice @mesh [{}, {"y", "x"}]
func.func private @slices(%a: tensor<4x4xi32>) -> tensor<2x1xi32> attributes {shoal.spmd} {
  %0 = spmd.all_slice @mesh [{"x"}, {}] %a : tensor<4x4xi32> -> tensor<2x4xi32>
  %1 = spmd.all_slice @mesh [{}, {"y", "x"}] %0 : tensor<2x4xi32> -> tensor<2x1xi32>
  return %1 : tensor<2x1xi32>
}

// An all_gather that drops the last row that an all_to_all brought.
// CHECK-LABEL: @dropped
// CHECK: spmd.all_to_all @mesh [{"x"} : 0 -> 1]
// CHECK-NEXT: spmd.all_gather @mesh [{}, {"x"}]
func.func private @dropped(%a: tensor<2x4xi32>) -> tensor<4x3xi32> attributes {shoal.spmd} {
  %0 = spmd.all_to_all @mesh [{"x"} : 0 -> 1] %a : tensor<2x4xi32> -> tensor<4x2xi32>
  %1 = spmd.all_gather @mesh [{}, {"x"}] %0 : tensor<4x2xi32> -> tensor<4x3xi32>
  return %1 : tensor<4x3xi32>
}
