// RUN: shoal-run %s --print | FileCheck %s

func.func @main() -> (
    tensor<2xf32> {shoal.name = "sum"}, tensor<3xf32> {shoal.name = "prod"},
    tensor<2xf32> {shoal.name = "max"}, tensor<f32> {shoal.name = "min"},
    tensor<2xi8> {shoal.name = "and"}, tensor<2xi8> {shoal.name = "or"},
    tensor<2xi8> {shoal.name = "sum_wraps"}, tensor<2xi1> {shoal.name = "or_bits"},
    tensor<2xf32> {shoal.name = "max_of_none"}, tensor<2xi8> {shoal.name = "min_of_none"},
    tensor<2xi8> {shoal.name = "and_of_none"}, tensor<bf16> {shoal.name = "sum_rounds_once"},
    tensor<2x3xi32> {shoal.name = "cumulative"}, tensor<2x3xi32> {shoal.name = "exclusive"},
    tensor<2x3xi32> {shoal.name = "reverse"}, tensor<2x3xi32> {shoal.name = "reverse_exclusive"},
    tensor<3xf32> {shoal.name = "cumulative_max"}, tensor<3xf32> {shoal.name = "exclusive_max"},
    tensor<2x3xf32> {shoal.name = "top_values"}, tensor<2x3xi32> {shoal.name = "top_places"}) {
  %x = arith.constant dense<[[1.0, 2.0, -4.0], [0.5, 0x7FC00000, 8.0]]> : tensor<2x3xf32>
  // CHECK: sum: tensor<2xf32> = [-1, nan]
  %sum = shoal.reduce sum %x dims = [1] : tensor<2x3xf32> -> tensor<2xf32>
  // CHECK: prod: tensor<3xf32> = [0.5, nan, -32]
  %prod = shoal.reduce prod %x dims = [0] : tensor<2x3xf32> -> tensor<3xf32>
  // CHECK: max: tensor<2xf32> = [2, nan]
  %max = shoal.reduce max %x dims = [1] : tensor<2x3xf32> -> tensor<2xf32>
  %y = arith.constant dense<[[1.0, 2.0, -4.0], [0.5, 3.0, 8.0]]> : tensor<2x3xf32>
  // CHECK: min: tensor<f32> = -4
  %min = shoal.reduce min %y dims = [0, 1] : tensor<2x3xf32> -> tensor<f32>
  %i = arith.constant dense<[[12, 10], [100, 100]]> : tensor<2x2xi8>
  // CHECK: and: tensor<2xi8> = [8, 100]
  %and = shoal.reduce and %i dims = [1] : tensor<2x2xi8> -> tensor<2xi8>
  // CHECK: or: tensor<2xi8> = [14, 100]
  %or = shoal.reduce or %i dims = [1] : tensor<2x2xi8> -> tensor<2xi8>
  // CHECK: sum_wraps: tensor<2xi8> = [22, -56]
  %sum_wraps = shoal.reduce sum %i dims = [1] : tensor<2x2xi8> -> tensor<2xi8>
  %b = arith.constant dense<[[true, false], [false, false]]> : tensor<2x2xi1>
  // CHECK: or_bits: tensor<2xi1> = [1, 0]
  %or_bits = shoal.reduce or %b dims = [1] : tensor<2x2xi1> -> tensor<2xi1>

  // Over no element: the identity.
  %none = arith.constant dense<> : tensor<2x0xf32>
  %no_ints = arith.constant dense<> : tensor<2x0xi8>
  // CHECK: max_of_none: tensor<2xf32> = [-inf, -inf]
  %max_of_none = shoal.reduce max %none dims = [1] : tensor<2x0xf32> -> tensor<2xf32>
  // CHECK: min_of_none: tensor<2xi8> = [127, 127]
  %min_of_none = shoal.reduce min %no_ints dims = [1] : tensor<2x0xi8> -> tensor<2xi8>
  // CHECK: and_of_none: tensor<2xi8> = [-1, -1]
  %and_of_none = shoal.reduce and %no_ints dims = [1] : tensor<2x0xi8> -> tensor<2xi8>

  // 256 + 1 + 1 is a bf16, but 256 + 1 rounds back to 256.
  %fine = arith.constant dense<[256.0, 1.0, 1.0]> : tensor<3xbf16>
  // CHECK: sum_rounds_once: tensor<bf16> = 258
  %rounds_once = shoal.reduce sum %fine dims = [0] : tensor<3xbf16> -> tensor<bf16>

  %c = arith.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  // CHECK{LITERAL}: cumulative: tensor<2x3xi32> = [[1, 3, 6], [4, 9, 15]]
  %cumulative = shoal.cumulative sum %c dim = 1 : tensor<2x3xi32>
  // CHECK{LITERAL}: exclusive: tensor<2x3xi32> = [[0, 0, 0], [1, 2, 3]]
  %exclusive = shoal.cumulative sum %c dim = 0 {exclusive} : tensor<2x3xi32>
  // CHECK{LITERAL}: reverse: tensor<2x3xi32> = [[6, 5, 3], [15, 11, 6]]
  %reverse = shoal.cumulative sum %c dim = 1 {reverse} : tensor<2x3xi32>
  // CHECK{LITERAL}: reverse_exclusive: tensor<2x3xi32> = [[6, 3, 1], [30, 6, 1]]
  %reverse_exclusive = shoal.cumulative prod %c dim = 1 {exclusive, reverse} : tensor<2x3xi32>
  %z = arith.constant dense<[1.0, 3.0, 2.0]> : tensor<3xf32>
  // CHECK: cumulative_max: tensor<3xf32> = [1, 3, 3]
  %cumulative_max = shoal.cumulative max %z dim = 0 : tensor<3xf32>
  // CHECK: exclusive_max: tensor<3xf32> = [-inf, 1, 3]
  %exclusive_max = shoal.cumulative max %z dim = 0 {exclusive} : tensor<3xf32>

  // NaN first; equal values by place.
  %t = arith.constant dense<[[2.0, 5.0, 2.0, 5.0], [-1.0, -0.0, 0x7FC00000, 0.0]]> : tensor<2x4xf32>
  // CHECK{LITERAL}: top_values: tensor<2x3xf32> = [[5, 5, 2], [nan, -0, 0]]
  // CHECK{LITERAL}: top_places: tensor<2x3xi32> = [[1, 3, 0], [2, 1, 3]]
  %top_values, %top_places = shoal.top_k %t {k = 3} : tensor<2x4xf32> -> tensor<2x3xf32>, tensor<2x3xi32>
  return %sum, %prod, %max, %min, %and, %or, %sum_wraps, %or_bits, %max_of_none, %min_of_none, %and_of_none, %rounds_once,
    %cumulative, %exclusive, %reverse, %reverse_exclusive, %cumulative_max, %exclusive_max, %top_values, %top_places
    : tensor<2xf32>, tensor<3xf32>, tensor<2xf32>, tensor<f32>, tensor<2xi8>, tensor<2xi8>, tensor<2xi8>, tensor<2xi1>, tensor<2xf32>, tensor<2xi8>, tensor<2xi8>, tensor<bf16>,
      tensor<2x3xi32>, tensor<2x3xi32>, tensor<2x3xi32>, tensor<2x3xi32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>, tensor<2x3xi32>
}
