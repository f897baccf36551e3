// GShard's annotations become shardings by named axes.
//
// RUN: shoal-opt %s --split-input-file --shoal-resolve-annotations | FileCheck %s

shoal.mesh @mesh = <["a" = 2, "b" = 4]>

// CHECK: shoal.mesh @[[REVERSED:.*]] = <["a" = 2, "b" = 4], device_ids = [7, 6, 5, 4, 3, 2, 1, 0]>

// CHECK-LABEL: @annotations
func.func @annotations(%x: tensor<16x4xf32>) -> tensor<16x4xf32> {
  // CHECK: sharding_constraint %arg0 <@mesh, [{}, {}]>
  %0 = shoal.replicate %x : tensor<16x4xf32>
  // CHECK: <@mesh, [{"a", "b"}, {}]>
  %1 = shoal.split %0 {dim = 0, num_partitions = 8} : tensor<16x4xf32>
  // Partition i on device i: the minor axes.
  // CHECK: <@mesh, [{}, {"b"}]>
  %2 = shoal.split %1 {dim = 1, num_partitions = 4} : tensor<16x4xf32>
  // CHECK: <@mesh, [{"b":(2)2}, {}]>
  %3 = shoal.split %2 {dim = 0, num_partitions = 2} : tensor<16x4xf32>
  // CHECK: <@mesh, [{"b", "a"}, {}]>
  %4 = shoal.shard %3 {device_assignment = dense<[[0], [4], [1], [5], [2], [6], [3], [7]]> : tensor<8x1xi64>} : tensor<16x4xf32>
  // A third dimension replicates.
  // CHECK: <@mesh, [{"b":(1)2}, {"a"}]>
  %5 = shoal.shard %4 {device_assignment = dense<[[[0, 1], [4, 5]], [[2, 3], [6, 7]]]> : tensor<2x2x2xi64>} : tensor<16x4xf32>
  // An order that no axes make gets a mesh of its own, once.
  // CHECK: <@[[REVERSED]], [{"a", "b"}, {}]>
  // CHECK: <@[[REVERSED]], [{"a"}, {"b"}]>
  %6 = shoal.shard %5 {device_assignment = dense<[[7], [6], [5], [4], [3], [2], [1], [0]]> : tensor<8x1xi64>} : tensor<16x4xf32>
  %7 = shoal.shard %6 {device_assignment = dense<[[7, 6, 5, 4], [3, 2, 1, 0]]> : tensor<2x4xi64>} : tensor<16x4xf32>
  return %7 : tensor<16x4xf32>
}

// -----

// A program without annotations is one for a single device.
// CHECK: shoal.mesh @mesh = <["device" = 1]>
func.func @no_mesh(%x: tensor<16x4xf32>) -> tensor<16x4xf32> {
  return %x : tensor<16x4xf32>
}

// -----

// Device i of a split is device i also where the mesh has another order.
// CHECK: shoal.mesh @ordered = <["x" = 4], device_ids = [3, 2, 1, 0]>
// CHECK: shoal.mesh @[[BY_NUMBER:.*]] = <["x" = 4]>
shoal.mesh @ordered = <["x" = 4], device_ids = [3, 2, 1, 0]>

// CHECK-LABEL: @split_counts_devices_not_positions
func.func @split_counts_devices_not_positions(%x: tensor<16xf32>) -> tensor<16xf32> {
  // CHECK: <@[[BY_NUMBER]], [{"x"}]>
  %0 = shoal.split %x {dim = 0, num_partitions = 4} : tensor<16xf32>
  // CHECK: <@ordered, [{"x"}]>
  %1 = shoal.shard %0 {device_assignment = dense<[3, 2, 1, 0]> : tensor<4xi64>} : tensor<16xf32>
  return %1 : tensor<16xf32>
}
