// RUN: shoal-opt %s | shoal-opt | FileCheck %s
// RUN: shoal-opt %s --mlir-print-op-generic | shoal-opt | FileCheck %s

// Meshes and annotations survive a round trip, also by their generic form.

// CHECK: shoal.mesh @mesh = <["data" = 2, "expert" = 4]>
shoal.mesh @mesh = <["data" = 2, "expert" = 4]>

// CHECK-LABEL: func @annotations(
func.func @annotations(%x: tensor<16x4xf32>) -> tensor<16x4xf32> {
  // CHECK: shoal.replicate %{{.*}} : tensor<16x4xf32>
  %0 = shoal.replicate %x : tensor<16x4xf32>
  // CHECK: shoal.split %{{.*}} {dim = 0 : i64, num_partitions = 8 : i64} : tensor<16x4xf32>
  %1 = shoal.split %0 {dim = 0, num_partitions = 8} : tensor<16x4xf32>
  // CHECK: shoal.shard %{{.*}} {device_assignment = dense<{{.*}}> : tensor<4x1x2xi64>} : tensor<16x4xf32>
  %2 = shoal.shard %1 {device_assignment = dense<[[[0, 4]], [[1, 5]], [[2, 6]], [[3, 7]]]> : tensor<4x1x2xi64>} : tensor<16x4xf32>
  // CHECK: shoal.sharding_constraint %{{.*}} <@mesh, [{"data"}, {?}]> : tensor<16x4xf32>
  %3 = shoal.sharding_constraint %2 <@mesh, [{"data"}, {?}]> : tensor<16x4xf32>
  // CHECK: shoal.reshard %{{.*}} <@mesh, [{"data"}, {}]> -> <@mesh, [{}, {"data"}]> : tensor<16x4xf32>
  %4 = shoal.reshard %3 <@mesh, [{"data"}, {}]> -> <@mesh, [{}, {"data"}]> : tensor<16x4xf32>
  // CHECK: shoal.reshard %{{.*}} <@mesh, [{}, {"data"}]> -> <@mesh, [{"data"}, {}]> by all_to_all {why = "operand 0 of shoal.einsum"} : tensor<16x4xf32>
  %5 = shoal.reshard %4 <@mesh, [{}, {"data"}]> -> <@mesh, [{"data"}, {}]> by all_to_all {why = "operand 0 of shoal.einsum"} : tensor<16x4xf32>
  return %5 : tensor<16x4xf32>
}
