// RUN: shoal-run %s --print | FileCheck %s

func.func @main() -> (tensor<2x3xi32> {shoal.name = "columns"}, tensor<2x3xi32> {shoal.name = "rows"}) {
  %m = arith.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %b = shoal.optimization_barrier %m : tensor<2x3xi32>
  // CHECK{LITERAL}: columns: tensor<2x3xi32> = [[2, 3, 1], [5, 6, 4]]
  %columns = shoal.roll %b dim = 1 shift = 2 : tensor<2x3xi32>
  // CHECK{LITERAL}: rows: tensor<2x3xi32> = [[4, 5, 6], [1, 2, 3]]
  %rows = shoal.roll %b dim = 0 shift = 1 : tensor<2x3xi32>
  return %columns, %rows : tensor<2x3xi32>, tensor<2x3xi32>
}
