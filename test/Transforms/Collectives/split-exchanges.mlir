// Exchanges in two steps: within the units of a machine's level, then among
// them. Small messages, of which fewer leave the units; large ones stay whole.
//
// RUN: shoal-opt %s --shoal-split-exchanges=machine-file=%S/Inputs/two-levels.toml -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: shoal-opt %s --shoal-split-exchanges | FileCheck %s --check-prefix=NONE
// RUN: not shoal-opt %s --shoal-split-exchanges=machine-file=%t.none 2>&1 | FileCheck %s --check-prefix=ERROR

// NONE-NOT: "ep":(
// ERROR: error: machine: {{.*}}none

shoal.mesh @mesh = <["ep" = 8]>
shoal.mesh @two = <["dp" = 2, "ep" = 4]>
shoal.mesh @turned = <["ep" = 8], device_ids = [0, 2, 4, 6, 1, 3, 5, 7]>

// CHECK-LABEL: @one_axis(
// CHECK: %[[BLOCKS:.*]] = shoal.reshape %{{.*}} : tensor<16x2x3xf32> -> tensor<2x4x2x2x3xf32>
// CHECK-NEXT: %[[WITHIN:.*]] = spmd.all_to_all @mesh [{"ep":(2)4} : 3 -> 1] %[[BLOCKS]] {why = "operand 0"} : tensor<2x4x2x2x3xf32> -> tensor<2x1x2x8x3xf32>
// CHECK-NEXT: %[[AMONG:.*]] = spmd.all_to_all @mesh [{"ep":(1)2} : 3 -> 0] %[[WITHIN]] {why = "operand 0"} : tensor<2x1x2x8x3xf32> -> tensor<1x1x2x16x3xf32>
// CHECK-NEXT: shoal.reshape %[[AMONG]] : tensor<1x1x2x16x3xf32> -> tensor<2x16x3xf32>
func.func @one_axis(%x: tensor<16x2x3xf32>) -> tensor<2x16x3xf32> attributes {shoal.spmd} {
  %0 = spmd.all_to_all @mesh [{"ep"} : 1 -> 0] %x {why = "operand 0"} : tensor<16x2x3xf32> -> tensor<2x16x3xf32>
  return %0 : tensor<2x16x3xf32>
}

// The source stands before the target.
// CHECK-LABEL: @back(
// CHECK: spmd.all_to_all @mesh [{"ep":(2)4} : 0 -> 2]
// CHECK: spmd.all_to_all @mesh [{"ep":(1)2} : 0 -> 1]
func.func @back(%x: tensor<2x16x3xf32>) -> tensor<16x2x3xf32> attributes {shoal.spmd} {
  %0 = spmd.all_to_all @mesh [{"ep"} : 0 -> 1] %x : tensor<2x16x3xf32> -> tensor<16x2x3xf32>
  return %0 : tensor<16x2x3xf32>
}

// Axes that lie on levels of their own are not cut.
// CHECK-LABEL: @two_axes(
// CHECK: spmd.all_to_all @two [{"ep"} : 3 -> 1]
// CHECK: spmd.all_to_all @two [{"dp"} : 3 -> 0]
func.func @two_axes(%x: tensor<8x2xf32>) -> tensor<1x16xf32> attributes {shoal.spmd} {
  %0 = spmd.all_to_all @two [{"dp", "ep"} : 1 -> 0] %x : tensor<8x2xf32> -> tensor<1x16xf32>
  return %0 : tensor<1x16xf32>
}

// The minor axis leaves the units: no step would stay within.
// CHECK-LABEL: @turned_axes(
// CHECK: spmd.all_to_all @two [{"ep", "dp"} : 1 -> 0]
// CHECK-NOT: spmd.all_to_all
func.func @turned_axes(%x: tensor<8x2xf32>) -> tensor<1x16xf32> attributes {shoal.spmd} {
  %0 = spmd.all_to_all @two [{"ep", "dp"} : 1 -> 0] %x : tensor<8x2xf32> -> tensor<1x16xf32>
  return %0 : tensor<1x16xf32>
}

// Neighbours along the axis are not neighbours on the machine: nor does it here.
// CHECK-LABEL: @turned_devices(
// CHECK: spmd.all_to_all @turned [{"ep"} : 1 -> 0]
// CHECK-NOT: spmd.all_to_all
func.func @turned_devices(%x: tensor<8x2xf32>) -> tensor<1x16xf32> attributes {shoal.spmd} {
  %0 = spmd.all_to_all @turned [{"ep"} : 1 -> 0] %x : tensor<8x2xf32> -> tensor<1x16xf32>
  return %0 : tensor<1x16xf32>
}

// Within a unit there is one level alone, and large messages gain nothing.
// CHECK-LABEL: @within(
// CHECK: spmd.all_to_all @two [{"ep"} : 1 -> 0]
// CHECK: spmd.all_to_all @mesh [{"ep"} : 1 -> 0] %{{.*}} : tensor<4096x512xf32> -> tensor<512x4096xf32>
// CHECK-NOT: spmd.all_to_all
func.func @within(%x: tensor<8x2xf32>, %y: tensor<4096x512xf32>) -> (tensor<2x8xf32>, tensor<512x4096xf32>) attributes {shoal.spmd} {
  %0 = spmd.all_to_all @two [{"ep"} : 1 -> 0] %x : tensor<8x2xf32> -> tensor<2x8xf32>
  %1 = spmd.all_to_all @mesh [{"ep"} : 1 -> 0] %y : tensor<4096x512xf32> -> tensor<512x4096xf32>
  return %0, %1 : tensor<2x8xf32>, tensor<512x4096xf32>
}

// Blocks of several sizes stay.
// CHECK-LABEL: @uneven(
// CHECK: spmd.all_to_all @mesh [{"ep"} : 1 -> 0] %{{.*}} : tensor<12x2xf32> -> tensor<2x16xf32>
func.func @uneven(%x: tensor<12x2xf32>) -> tensor<2x16xf32> attributes {shoal.spmd} {
  %0 = spmd.all_to_all @mesh [{"ep"} : 1 -> 0] %x : tensor<12x2xf32> -> tensor<2x16xf32>
  return %0 : tensor<2x16xf32>
}
