// RUN: shoal-run %s --print | FileCheck %s

// Composites run as what they decompose to.
func.func @main() -> (tensor<2x4xi32> {shoal.name = "one_hot"}, tensor<2x2xf32> {shoal.name = "softmax"},
                      tensor<3xf32> {shoal.name = "relu"}, tensor<1x3x2x2xf32> {shoal.name = "dispatch"}) {
  %i = arith.constant dense<[2, 7]> : tensor<2xi32>
  // CHECK{LITERAL}: one_hot: tensor<2x4xi32> = [[0, 0, 1, 0], [0, 0, 0, 0]]
  %one_hot = shoal.one_hot %i {dim = 1} : tensor<2xi32> -> tensor<2x4xi32>
  %x = arith.constant dense<[[1.0, 1.0], [0.0, 200.0]]> : tensor<2x2xf32>
  // exp(-200) = 1.38e-87 is zero in f32.
  // CHECK{LITERAL}: softmax: tensor<2x2xf32> = [[0.5, 0.5], [0, 1]]
  %softmax = shoal.softmax %x {axis = 1} : tensor<2x2xf32>
  %r = arith.constant dense<[-1.0, 2.0, 0x7FC00000]> : tensor<3xf32>
  // CHECK: relu: tensor<3xf32> = [0, 2, nan]
  %relu = shoal.relu %r : tensor<3xf32>
  // All three tokens choose expert 0 first; its buffer holds two, and the
  // third is dropped. For expert 1 all come second.
  %gates = arith.constant dense<[[[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]]]> : tensor<1x3x2xf32>
  %combine, %dispatch, %aux = shoal.top_k_gating %gates {k = 2, capacity = 2}
    : tensor<1x3x2xf32> -> tensor<1x3x2x2xf32>, tensor<1x3x2x2xf32>, tensor<f32>
  // CHECK{LITERAL}: dispatch: tensor<1x3x2x2xf32> = [[[[1, 0], [1, 0]], [[0, 1], [0, 1]], [[0, 0], [0, 0]]]]
  return %one_hot, %softmax, %relu, %dispatch : tensor<2x4xi32>, tensor<2x2xf32>, tensor<3xf32>, tensor<1x3x2x2xf32>
}
