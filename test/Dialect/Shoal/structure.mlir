// RUN: shoal-opt %s | shoal-opt | FileCheck %s
// RUN: shoal-opt %s --mlir-print-op-generic | shoal-opt | FileCheck %s

// Every op in each of its forms survives a round trip, also by its generic form.

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
  // CHECK: shoal.roll %{{.*}} dim = 1 shift = 3 : tensor<4x7xf32>
  %8 = shoal.roll %7 dim = 1 shift = 3 : tensor<4x7xf32>
  return %8 : tensor<4x7xf32>
}
