// RUN: shoal-opt %s | shoal-opt | FileCheck %s
// RUN: shoal-opt %s --mlir-print-op-generic | shoal-opt | FileCheck %s

// Every op in each of its forms survives a round trip, also by its generic form.

// CHECK-LABEL: func @composites(
func.func @composites(%x: tensor<2x6x4xf32>, %scale: tensor<4xf32>, %i: tensor<2x6xi32>, %key: tensor<2xi32>) {
  // CHECK: shoal.one_hot %{{.*}} {dim = 1 : i64} : tensor<2x6xi32> -> tensor<2x4x6xf32>
  %0 = shoal.one_hot %i {dim = 1} : tensor<2x6xi32> -> tensor<2x4x6xf32>
  // CHECK: shoal.softmax %{{.*}} {axis = 2 : i64} : tensor<2x6x4xf32>
  %gates = shoal.softmax %x {axis = 2} : tensor<2x6x4xf32>
  // CHECK: shoal.layer_norm %{{.*}}, %{{.*}}, %{{.*}} {axis = 2 : i64} : tensor<2x6x4xf32>, tensor<4xf32>, tensor<4xf32>
  %1 = shoal.layer_norm %x, %scale, %scale {axis = 2} : tensor<2x6x4xf32>, tensor<4xf32>, tensor<4xf32>
  // CHECK: shoal.layer_norm {{.*}} {axis = 2 : i64, epsilon = 9.9999999999999995E-7 : f64}
  %2 = shoal.layer_norm %1, %scale, %scale {axis = 2, epsilon = 1.0e-6} : tensor<2x6x4xf32>, tensor<4xf32>, tensor<4xf32>
  // CHECK: shoal.rms_norm %{{.*}}, %{{.*}} {axis = 2 : i64} : tensor<2x6x4xf32>, tensor<4xf32>
  %normal = shoal.rms_norm %x, %scale {axis = 2} : tensor<2x6x4xf32>, tensor<4xf32>
  // CHECK: shoal.relu %{{.*}} : tensor<2x6x4xf32>
  %3 = shoal.relu %2 : tensor<2x6x4xf32>
  // CHECK: shoal.silu %{{.*}} : tensor<2x6x4xf32>
  %4 = shoal.silu %3 : tensor<2x6x4xf32>
  // CHECK: shoal.gelu %{{.*}} : tensor<2x6x4xf32>
  %5 = shoal.gelu %4 : tensor<2x6x4xf32>
  // CHECK: shoal.gelu %{{.*}} {approximate} : tensor<2x6x4xf32>
  %6 = shoal.gelu %5 {approximate} : tensor<2x6x4xf32>
  // CHECK: shoal.top_k_gating %{{.*}} {capacity = 3 : i64, k = 2 : i64} : tensor<2x6x4xf32> -> tensor<2x6x4x3xf32>, tensor<2x6x4x3xf32>, tensor<f32>
  %c0, %d0, %aux0 = shoal.top_k_gating %gates {k = 2, capacity = 3} : tensor<2x6x4xf32> -> tensor<2x6x4x3xf32>, tensor<2x6x4x3xf32>, tensor<f32>
  // C = max(2, ceil(1.25 * 2 * 6 / 4)) = 4
  // CHECK: shoal.top_k_gating %{{.*}} key %{{.*}} : tensor<2xi32> {capacity_factor = 1.250000e+00 : f64, k = 2 : i64, min_capacity = 2 : i64} : {{.*}} -> tensor<2x6x4x4xf32>
  %c1, %d1, %aux1 = shoal.top_k_gating %gates key %key : tensor<2xi32> {k = 2, capacity_factor = 1.25, min_capacity = 2} : tensor<2x6x4xf32> -> tensor<2x6x4x4xf32>, tensor<2x6x4x4xf32>, tensor<f32>
  return
}
