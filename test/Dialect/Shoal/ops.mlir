// RUN: shoal-opt %s | shoal-opt | FileCheck %s
// RUN: shoal-opt %s --mlir-print-op-generic | shoal-opt | FileCheck %s

// Every op in each of its forms survives a round trip, also by its generic form.

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

// CHECK-LABEL: func @einsum(
func.func @einsum(%x: tensor<8x16x4xbf16>, %w: tensor<4x8xbf16>, %q: tensor<5x5xi32>) -> tensor<i32> {
  // CHECK: shoal.einsum "GSM,ME->GSE" %{{.*}}, %{{.*}} : (tensor<8x16x4xbf16>, tensor<4x8xbf16>) -> tensor<8x16x8xbf16>
  %0 = shoal.einsum "GSM,ME->GSE" %x, %w : (tensor<8x16x4xbf16>, tensor<4x8xbf16>) -> tensor<8x16x8xbf16>
  // CHECK: shoal.einsum "gsm,mE->Egs" {{.*}} -> tensor<8x8x16xf32>
  %1 = shoal.einsum "gsm,mE->Egs" %x, %w : (tensor<8x16x4xbf16>, tensor<4x8xbf16>) -> tensor<8x8x16xf32>
  // CHECK: shoal.einsum "ii->" {{.*}} : (tensor<5x5xi32>) -> tensor<i32>
  %2 = shoal.einsum "ii->" %q : (tensor<5x5xi32>) -> tensor<i32>
  return %2 : tensor<i32>
}

// CHECK-LABEL: func @structure(
func.func @structure(%x: tensor<3x4xf32>, %zero: tensor<f32>) -> tensor<4x7xf32> {
  // CHECK: shoal.broadcast_in_dim %{{.*}} dims = [2, 0] : tensor<3x4xf32> -> tensor<4x2x3xf32>
  %0 = shoal.broadcast_in_dim %x dims = [2, 0] : tensor<3x4xf32> -> tensor<4x2x3xf32>
  // CHECK: shoal.broadcast_in_dim %{{.*}} dims = [] : tensor<f32> -> tensor<2xf32>
  %1 = shoal.broadcast_in_dim %zero dims = [] : tensor<f32> -> tensor<2xf32>
  // CHECK: shoal.transpose %{{.*}} permutation = [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
  %2 = shoal.transpose %x permutation = [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
  // CHECK: shoal.reshape %{{.*}} : tensor<4x3xf32> -> tensor<2x6xf32>
  %3 = shoal.reshape %2 : tensor<4x3xf32> -> tensor<2x6xf32>
  // CHECK: shoal.iota dim = 1 : tensor<2x3xi32>
  %4 = shoal.iota dim = 1 : tensor<2x3xi32>
  // CHECK: shoal.slice %{{.*}} starts = [1, 0] limits = [2, 6] strides = [1, 4] : tensor<2x6xf32> -> tensor<1x2xf32>
  %5 = shoal.slice %3 starts = [1, 0] limits = [2, 6] strides = [1, 4] : tensor<2x6xf32> -> tensor<1x2xf32>
  // CHECK: shoal.pad %{{.*}}, %{{.*}} low = [1, 0] high = [2, 0] interior = [0, 2] : tensor<1x2xf32>, tensor<f32> -> tensor<4x4xf32>
  %6 = shoal.pad %5, %zero low = [1, 0] high = [2, 0] interior = [0, 2] : tensor<1x2xf32>, tensor<f32> -> tensor<4x4xf32>
  // CHECK: shoal.concatenate %{{.*}}, %{{.*}} dim = 1 : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x7xf32>
  %7 = shoal.concatenate %6, %2 dim = 1 : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x7xf32>
  return %7 : tensor<4x7xf32>
}

// CHECK-LABEL: func @reductions(
func.func @reductions(%x: tensor<8x16xf32>, %mask: tensor<8x16xi1>) -> tensor<8x2xi32> {
  // CHECK: shoal.reduce sum %{{.*}} dims = [0, 1] : tensor<8x16xf32> -> tensor<f32>
  %0 = shoal.reduce sum %x dims = [0, 1] : tensor<8x16xf32> -> tensor<f32>
  // CHECK: shoal.reduce prod %{{.*}} dims = [] : tensor<8x16xf32> -> tensor<8x16xf32>
  %1 = shoal.reduce prod %x dims = [] : tensor<8x16xf32> -> tensor<8x16xf32>
  // CHECK: shoal.reduce min
  %2 = shoal.reduce min %x dims = [1] : tensor<8x16xf32> -> tensor<8xf32>
  // CHECK: shoal.reduce max
  %3 = shoal.reduce max %x dims = [1] : tensor<8x16xf32> -> tensor<8xf32>
  // CHECK: shoal.reduce and %{{.*}} dims = [0] : tensor<8x16xi1> -> tensor<16xi1>
  %4 = shoal.reduce and %mask dims = [0] : tensor<8x16xi1> -> tensor<16xi1>
  // CHECK: shoal.reduce or
  %5 = shoal.reduce or %mask dims = [0] : tensor<8x16xi1> -> tensor<16xi1>
  // CHECK: shoal.cumulative sum %{{.*}} dim = 1 : tensor<8x16xf32>
  %6 = shoal.cumulative sum %x dim = 1 : tensor<8x16xf32>
  // CHECK: shoal.cumulative max %{{.*}} dim = 0 {exclusive, reverse} : tensor<8x16xf32>
  %7 = shoal.cumulative max %6 dim = 0 {exclusive, reverse} : tensor<8x16xf32>
  // CHECK: shoal.top_k %{{.*}} {k = 2 : i64} : tensor<8x16xf32> -> tensor<8x2xf32>, tensor<8x2xi32>
  %v, %i = shoal.top_k %7 {k = 2} : tensor<8x16xf32> -> tensor<8x2xf32>, tensor<8x2xi32>
  return %i : tensor<8x2xi32>
}

// CHECK-LABEL: func @composites(
func.func @composites(%x: tensor<2x6x4xf32>, %scale: tensor<4xf32>, %i: tensor<2x6xi32>, %key: tensor<2xi32>, %key64: tensor<2xi64>) {
  // CHECK: shoal.one_hot %{{.*}} {dim = 1 : i64} : tensor<2x6xi32> -> tensor<2x4x6xf32>
  %0 = shoal.one_hot %i {dim = 1} : tensor<2x6xi32> -> tensor<2x4x6xf32>
  // CHECK: shoal.softmax %{{.*}} {axis = 2 : i64} : tensor<2x6x4xf32>
  %gates = shoal.softmax %x {axis = 2} : tensor<2x6x4xf32>
  // CHECK: shoal.layer_norm %{{.*}}, %{{.*}}, %{{.*}} {axis = 2 : i64} : tensor<2x6x4xf32>, tensor<4xf32>, tensor<4xf32>
  %1 = shoal.layer_norm %x, %scale, %scale {axis = 2} : tensor<2x6x4xf32>, tensor<4xf32>, tensor<4xf32>
  // CHECK: shoal.layer_norm {{.*}} {axis = 2 : i64, epsilon = 9.9999999999999995E-7 : f64}
  %2 = shoal.layer_norm %1, %scale, %scale {axis = 2, epsilon = 1.0e-6} : tensor<2x6x4xf32>, tensor<4xf32>, tensor<4xf32>
  // CHECK: shoal.relu %{{.*}} : tensor<2x6x4xf32>
  %3 = shoal.relu %2 : tensor<2x6x4xf32>
  // CHECK: shoal.silu %{{.*}} : tensor<2x6x4xf32>
  %4 = shoal.silu %3 : tensor<2x6x4xf32>
  // CHECK: shoal.gelu %{{.*}} : tensor<2x6x4xf32>
  %5 = shoal.gelu %4 : tensor<2x6x4xf32>
  // CHECK: shoal.gelu %{{.*}} {approximate} : tensor<2x6x4xf32>
  %6 = shoal.gelu %5 {approximate} : tensor<2x6x4xf32>
  // CHECK: shoal.random uniform %{{.*}} : tensor<2xi32> -> tensor<8x512xf32>
  %7 = shoal.random uniform %key : tensor<2xi32> -> tensor<8x512xf32>
  // CHECK: shoal.random normal %{{.*}} : tensor<2xi64> -> tensor<f64>
  %8 = shoal.random normal %key64 : tensor<2xi64> -> tensor<f64>
  // CHECK: shoal.top_k_gating %{{.*}} {capacity = 3 : i64, k = 2 : i64} : tensor<2x6x4xf32> -> tensor<2x6x4x3xf32>, tensor<2x6x4x3xf32>, tensor<f32>
  %c0, %d0, %aux0 = shoal.top_k_gating %gates {k = 2, capacity = 3} : tensor<2x6x4xf32> -> tensor<2x6x4x3xf32>, tensor<2x6x4x3xf32>, tensor<f32>
  // C = max(2, ceil(1.25 * 2 * 6 / 4)) = 4
  // CHECK: shoal.top_k_gating %{{.*}} key %{{.*}} : tensor<2xi32> {capacity_factor = 1.250000e+00 : f64, k = 2 : i64, min_capacity = 2 : i64} : {{.*}} -> tensor<2x6x4x4xf32>
  %c1, %d1, %aux1 = shoal.top_k_gating %gates key %key : tensor<2xi32> {k = 2, capacity_factor = 1.25, min_capacity = 2} : tensor<2x6x4xf32> -> tensor<2x6x4x4xf32>, tensor<2x6x4x4xf32>, tensor<f32>
  return
}
