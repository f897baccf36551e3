// RUN: shoal-run %s --print | FileCheck %s
// RUN: shoal-run %s --devices=2 --compare --tolerance=0

// GShard's Algorithm 1 by hand: four tokens in each of two groups, three
// experts with places for two. Weights are chosen so that the two best sum to 1.
//
//   token  gates              first           second
//   0      .75   .25   0      expert 0 at 0   expert 1 at 1, behind token 3
//   1      .625  0     .375   expert 0 at 1   expert 2 at 0
//   2      .75   0     .25    expert 0 is full   expert 2 at 1
//   3      .375  .625  0      expert 1 at 0   expert 0 is full
//
// The first choices are 3, 1 and 0, the mean gates of experts 0 and 1 are .625
// and .21875: aux = (3/4 * .625 + 1/4 * .21875) / 3 = .174479. The second group
// holds the same tokens: neither places nor the loss depend on the first.

shoal.mesh @mesh = <["x" = 2]>
func.func @main() -> (tensor<2x4x3x2xf32> {shoal.name = "combine"}, tensor<2x4x3x2xf32> {shoal.name = "dispatch"},
                      tensor<f32> {shoal.name = "aux"}, tensor<2x4x3x2xf32> {shoal.name = "random"},
                      tensor<2x4x3x2xf32> {shoal.name = "top_1"}) {
  %gates = arith.constant dense<[[[0.75, 0.25, 0.0], [0.625, 0.0, 0.375], [0.75, 0.0, 0.25], [0.375, 0.625, 0.0]],
                                 [[0.75, 0.25, 0.0], [0.625, 0.0, 0.375], [0.75, 0.0, 0.25], [0.375, 0.625, 0.0]]]> : tensor<2x4x3xf32>
  %split = shoal.split %gates {dim = 0, num_partitions = 2} : tensor<2x4x3xf32>
  // CHECK{LITERAL}: combine: tensor<2x4x3x2xf32> = [[[[0.75, 0], [0, 0.25], [0, 0]], [[0, 0.625], [0, 0], [0.375, 0]], [[0, 0], [0, 0], [0, 0.25]], [[0, 0], [0.625, 0], [0, 0]]], [[[0.75, 0], [0, 0.25], [0, 0]], [[0, 0.625], [0, 0], [0.375, 0]], [[0, 0], [0, 0], [0, 0.25]], [[0, 0], [0.625, 0], [0, 0]]]]
  // CHECK{LITERAL}: dispatch: tensor<2x4x3x2xf32> = [[[[1, 0], [0, 1], [0, 0]], [[0, 1], [0, 0], [1, 0]], [[0, 0], [0, 0], [0, 1]], [[0, 0], [1, 0], [0, 0]]],
  // CHECK: aux: tensor<f32> = 0.17447
  %combine, %dispatch, %aux = shoal.top_k_gating %split {k = 2, capacity = 2}
    : tensor<2x4x3xf32> -> tensor<2x4x3x2xf32>, tensor<2x4x3x2xf32>, tensor<f32>
  // The key (4, 0 + 1) draws .057, .934, .314, .106 for the first group: token
  // 1 loses its second expert, 2 * .375 < .934, but keeps its place occupied:
  // token 2 stays at place 1.
  // CHECK{LITERAL}: random: tensor<2x4x3x2xf32> = [[[[0.75, 0], [0, 0.25], [0, 0]], [[0, 0.625], [0, 0], [0, 0]], [[0, 0], [0, 0], [0, 0.25]], [[0, 0], [0.625, 0], [0, 0]]],
  %key = arith.constant dense<[4, 0]> : tensor<2xi32>
  %random, %d1, %a1 = shoal.top_k_gating %split key %key : tensor<2xi32> {k = 2, capacity = 2}
    : tensor<2x4x3xf32> -> tensor<2x4x3x2xf32>, tensor<2x4x3x2xf32>, tensor<f32>
  // One choice has the whole weight.
  // CHECK{LITERAL}: top_1: tensor<2x4x3x2xf32> = [[[[1, 0], [0, 0], [0, 0]], [[0, 1], [0, 0], [0, 0]], [[0, 0], [0, 0], [0, 0]], [[0, 0], [1, 0], [0, 0]]],
  %top_1, %d2, %a2 = shoal.top_k_gating %split {k = 1, capacity = 2}
    : tensor<2x4x3xf32> -> tensor<2x4x3x2xf32>, tensor<2x4x3x2xf32>, tensor<f32>
  return %combine, %dispatch, %aux, %random, %top_1
    : tensor<2x4x3x2xf32>, tensor<2x4x3x2xf32>, tensor<f32>, tensor<2x4x3x2xf32>, tensor<2x4x3x2xf32>
}
