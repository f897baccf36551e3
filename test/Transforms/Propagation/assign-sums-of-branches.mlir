// RUN: shoal-opt %s --shoal-assign | FileCheck %s
// RUN: shoal-opt %s --shoal-assign="effort=descent" | FileCheck %s

// What a branch yields comes behind the op around it in the search's order, and
// may be split where that op would take partial sums of it: no reshard makes
// these. A search of one start alone finds what can be, too.

shoal.mesh @mesh = <["x" = 2, "y" = 4]>

// CHECK-LABEL: func.func @square_or_sum
// CHECK: = shoal.case
// CHECK-NOT: shoal.reshard {{.*}} -> <@mesh, [{}, {}], partial
// CHECK: return
func.func @square_or_sum(%a: tensor<8x2x8x2xf32>, %take: tensor<i1>) -> tensor<2x8xf32> {
  %sum = shoal.einsum "abcd,abed->be" %a, %a : (tensor<8x2x8x2xf32>, tensor<8x2x8x2xf32>) -> tensor<2x8xf32>
  %0:2 = shoal.case %take : (tensor<i1>) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
    %square = arith.mulf %sum, %sum : tensor<2x8xf32>
    shoal.yield %square, %square : tensor<2x8xf32>, tensor<2x8xf32>
  }, {
    shoal.yield %sum, %sum : tensor<2x8xf32>, tensor<2x8xf32>
  }
  %1 = shoal.sharding_constraint %0#0 <@mesh, [{}, {"x", "y"}]> : tensor<2x8xf32>
  %2 = shoal.sharding_constraint %a <@mesh, [{"x"}, {}, {}, {}]> : tensor<8x2x8x2xf32>
  return %0#1 : tensor<2x8xf32>
}
