// RUN: shoal-opt %s | shoal-opt | FileCheck %s
// RUN: shoal-opt %s --mlir-print-op-generic | shoal-opt | FileCheck %s

// Every op in each of its forms survives a round trip, also by its generic form.

// CHECK-LABEL: func @elements(
func.func @elements(%x: tensor<8x2xf32>, %low: tensor<f32>) {
  // CHECK: shoal.clamp %{{.*}}, %{{.*}}, %{{.*}} : tensor<f32>, tensor<8x2xf32>, tensor<8x2xf32>
  %0 = shoal.clamp %low, %x, %x : tensor<f32>, tensor<8x2xf32>, tensor<8x2xf32>
  // CHECK: shoal.bitcast_convert %{{.*}} : tensor<8x2xf32> -> tensor<8xi64>
  %1 = shoal.bitcast_convert %x : tensor<8x2xf32> -> tensor<8xi64>
  // CHECK: shoal.bitcast_convert %{{.*}} : tensor<f32> -> tensor<2xbf16>
  %2 = shoal.bitcast_convert %low : tensor<f32> -> tensor<2xbf16>
  return
}
