// Products with a bias and an activation for the emulated device: a bias of each
// expert, none, one that is made behind the product.
// test/python/compiler/test_cuda_execution.py compares the values.
//
// RUN: shoal-opt %s --shoal-decompose-composites --shoal-lower-to-cuda | FileCheck %s

// CHECK-DAG: rt.einsum {{.*}} bias "EO"({{.*}} activation relu
// CHECK-DAG: rt.einsum {{.*}} bias "O"({{.*}} activation gelu
// CHECK-DAG: rt.einsum "EBI,IO->EBO" ins({{[^)]*}}) activation gelu
// CHECK-DAG: rt.einsum {{.*}} bias "O"({{[^)]*}}) outs(
func.func @f(%x: tensor<3x40x24xf32>, %w: tensor<3x24x64xf32>, %b: tensor<3x64xf32>, %v: tensor<24x64xf32>,
             %c: tensor<64xf32>)
    -> (tensor<3x40x64xf32>, tensor<3x40x64xf32>, tensor<3x40x64xf32>, tensor<3x40x64xf32>) {
  %experts = shoal.einsum "EBI,EIO->EBO" %x, %w : (tensor<3x40x24xf32>, tensor<3x24x64xf32>) -> tensor<3x40x64xf32>
  %biases = shoal.broadcast_in_dim %b dims = [0, 2] : tensor<3x64xf32> -> tensor<3x40x64xf32>
  %sum = arith.addf %experts, %biases : tensor<3x40x64xf32>
  %relu = shoal.relu %sum : tensor<3x40x64xf32>
  %shared = shoal.einsum "EBI,IO->EBO" %x, %v : (tensor<3x40x24xf32>, tensor<24x64xf32>) -> tensor<3x40x64xf32>
  %tanh = math.tanh %c : tensor<64xf32>
  %bias = shoal.broadcast_in_dim %tanh dims = [2] : tensor<64xf32> -> tensor<3x40x64xf32>
  %sum1 = arith.addf %bias, %shared : tensor<3x40x64xf32>
  %gelu = shoal.gelu %sum1 {approximate} : tensor<3x40x64xf32>
  %y = arith.mulf %relu, %gelu : tensor<3x40x64xf32>
  %half = arith.constant dense<0.5> : tensor<3x40x24xf32>
  %x1 = arith.mulf %x, %half : tensor<3x40x24xf32>
  %again = shoal.einsum "EBI,IO->EBO" %x1, %v : (tensor<3x40x24xf32>, tensor<24x64xf32>) -> tensor<3x40x64xf32>
  %alone = shoal.gelu %again {approximate} : tensor<3x40x64xf32>
  %x2 = arith.addf %x, %half : tensor<3x40x24xf32>
  %third = shoal.einsum "EBI,EIO->EBO" %x2, %w : (tensor<3x40x24xf32>, tensor<3x24x64xf32>) -> tensor<3x40x64xf32>
  %sum2 = arith.addf %third, %bias : tensor<3x40x64xf32>
  %exact = shoal.gelu %sum2 : tensor<3x40x64xf32>
  return %y, %relu, %alone, %exact : tensor<3x40x64xf32>, tensor<3x40x64xf32>, tensor<3x40x64xf32>, tensor<3x40x64xf32>
}
