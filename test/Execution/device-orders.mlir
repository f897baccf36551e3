// RUN: rm -rf %t && split-file %s %t
// RUN: shoal-run %t/orders.mlir --random-inputs=3 --compare | FileCheck %s
// RUN: shoal-run %t/replicas.mlir --random-inputs=3 --compare | FileCheck %s
// RUN: shoal-run %t/orders.mlir --random-inputs=3 --devices=4 --print-shards | FileCheck %s --check-prefix=SHARDS

// Devices in an order that is not the mesh's own.
// CHECK: result0: {{.*}}: ok

// Device 1 has the first two columns, device 0 what is past the end.
// SHARDS: result0 on device 0: {{.*}} = {{\[\[}}nan, nan]
// SHARDS: result0 on device 2: {{.*}} = {{\[\[-?[0-9.]+}}, nan]

//--- orders.mlir

shoal.mesh @mesh = <["x" = 4]>
func.func @main(%a: tensor<7x5xf32>) -> (tensor<7x5xf32>) {
  %0 = shoal.shard %a {device_assignment = dense<[[2],[0],[3],[1]]> : tensor<4x1xi64>} : tensor<7x5xf32>
  %1 = arith.negf %0 : tensor<7x5xf32>
  %2 = shoal.shard %1 {device_assignment = dense<[[1,3,2,0]]> : tensor<1x4xi64>} : tensor<7x5xf32>
  return %2 : tensor<7x5xf32>
}

//--- replicas.mlir

shoal.mesh @mesh = <["x" = 4]>
func.func @main(%a: tensor<7x5xf32>) -> (tensor<7x5xf32>) {
  %0 = shoal.shard %a {device_assignment = dense<[[[0,2]],[[1,3]]]> : tensor<2x1x2xi64>} : tensor<7x5xf32>
  %1 = math.exp %0 : tensor<7x5xf32>
  %2 = shoal.split %1 {dim = 0, num_partitions = 2} : tensor<7x5xf32>
  return %2 : tensor<7x5xf32>
}
