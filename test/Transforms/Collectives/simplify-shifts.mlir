// RUN: shoal-opt %s --shoal-simplify-collectives | FileCheck %s

shoal.mesh @mesh = <["x" = 2, "y" = 2]>

// CHECK-LABEL: @shifts_add_up
// CHECK-NEXT: spmd.collective_permute @mesh {"x", "y"} -> @mesh {"y", "x"} %arg0 {shift = 1 : i64}
// CHECK-NEXT: return
func.func @shifts_add_up(%a: tensor<4xi32>) -> tensor<4xi32> attributes {shoal.spmd} {
  %0 = spmd.collective_permute @mesh {"x", "y"} -> @mesh {"x", "y"} %a {shift = 3} : tensor<4xi32>
  %1 = spmd.collective_permute @mesh {"x", "y"} -> @mesh {"y", "x"} %0 {shift = 2} : tensor<4xi32>
  return %1 : tensor<4xi32>
}

// CHECK-LABEL: @all_the_way_round
// CHECK-NEXT: return %arg0
func.func @all_the_way_round(%a: tensor<4xi32>) -> tensor<4xi32> attributes {shoal.spmd} {
  %0 = spmd.collective_permute @mesh {"x", "y"} -> @mesh {"x", "y"} %a {shift = 3} : tensor<4xi32>
  %1 = spmd.collective_permute @mesh {"x", "y"} -> @mesh {"x", "y"} %0 {shift = 1} : tensor<4xi32>
  return %1 : tensor<4xi32>
}
