// RUN: shoal-opt %s | shoal-opt | FileCheck %s
// RUN: shoal-opt %s --mlir-print-op-generic | shoal-opt | FileCheck %s

// Both distributions survive a round trip, also by their generic form.

// CHECK-LABEL: func @random(
func.func @random(%key: tensor<2xi32>, %key64: tensor<2xi64>) {
  // CHECK: shoal.random uniform %{{.*}} : tensor<2xi32> -> tensor<8x512xf32>
  %0 = shoal.random uniform %key : tensor<2xi32> -> tensor<8x512xf32>
  // CHECK: shoal.random normal %{{.*}} : tensor<2xi64> -> tensor<f64>
  %1 = shoal.random normal %key64 : tensor<2xi64> -> tensor<f64>
  return
}
