// RUN: shoal-run %s --print | FileCheck %s

// reverse, and padding that takes rows away.
func.func @main() -> (tensor<2x3xi32> {shoal.name = "reverse_rows"}, tensor<2x3xi32> {shoal.name = "reverse_both"},
    tensor<3xi32> {shoal.name = "pad_cut"}, tensor<4xi32> {shoal.name = "pad_cut_between"},
    tensor<2xi32> {shoal.name = "pad_cut_all"}, tensor<3xi32> {shoal.name = "pad_turned"}) {
  %m = arith.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %v = arith.constant dense<[1, 2, 3]> : tensor<3xi32>
  %nine = arith.constant dense<9> : tensor<i32>
  // CHECK{LITERAL}: reverse_rows: tensor<2x3xi32> = [[4, 5, 6], [1, 2, 3]]
  %rows = shoal.reverse %m dims = [0] : tensor<2x3xi32>
  // CHECK{LITERAL}: reverse_both: tensor<2x3xi32> = [[6, 5, 4], [3, 2, 1]]
  %both = shoal.reverse %m dims = [0, 1] : tensor<2x3xi32>
  // CHECK: pad_cut: tensor<3xi32> = [2, 3, 9]
  %cut = shoal.pad %v, %nine low = [-1] high = [1] interior = [0] : tensor<3xi32>, tensor<i32> -> tensor<3xi32>
  // 1 9 2 9 3, without the first.
  // CHECK: pad_cut_between: tensor<4xi32> = [9, 2, 9, 3]
  %between = shoal.pad %v, %nine low = [-1] high = [0] interior = [1] : tensor<3xi32>, tensor<i32> -> tensor<4xi32>
  // CHECK: pad_cut_all: tensor<2xi32> = [9, 9]
  %all = shoal.pad %v, %nine low = [-4] high = [3] interior = [0] : tensor<3xi32>, tensor<i32> -> tensor<2xi32>
  // CHECK: pad_turned: tensor<3xi32> = [9, 1, 2]
  %turned = shoal.pad %v, %nine low = [1] high = [-1] interior = [0] : tensor<3xi32>, tensor<i32> -> tensor<3xi32>
  return %rows, %both, %cut, %between, %all, %turned
    : tensor<2x3xi32>, tensor<2x3xi32>, tensor<3xi32>, tensor<4xi32>, tensor<2xi32>, tensor<3xi32>
}
