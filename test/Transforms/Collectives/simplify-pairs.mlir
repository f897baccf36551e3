// RUN: shoal-opt %s --shoal-simplify-collectives | FileCheck %s

// Permutes of pairs, merged with others and written as shifts.

shoal.mesh @mesh = <["x" = 2, "y" = 2]>

// Of 0 -> 1 -> 3 and 2 -> 0 the last is sent on to nobody.
// CHECK-LABEL: @pairs_sent_on
// CHECK-NEXT: spmd.collective_permute @mesh {"x", "y"} -> @mesh {"x", "y"} %arg0 {pairs = array<i64: 0, 3>}
// CHECK-NEXT: return
func.func @pairs_sent_on(%a: tensor<4xi32>) -> tensor<4xi32> attributes {shoal.spmd} {
  %0 = spmd.collective_permute @mesh {"x", "y"} -> @mesh {"x", "y"} %a {pairs = array<i64: 0, 1, 2, 0>} : tensor<4xi32>
  %1 = spmd.collective_permute @mesh {"x", "y"} -> @mesh {"x", "y"} %0 {pairs = array<i64: 1, 3, 2, 2>} : tensor<4xi32>
  return %1 : tensor<4xi32>
}

// CHECK-LABEL: @pairs_behind_a_shift
// CHECK-NEXT: spmd.collective_permute @mesh {"x", "y"} -> @mesh {"x", "y"} %arg0 {pairs = array<i64: 2, 3, 0, 1>}
// CHECK-NEXT: return
func.func @pairs_behind_a_shift(%a: tensor<4xi32>) -> tensor<4xi32> attributes {shoal.spmd} {
  %0 = spmd.collective_permute @mesh {"x", "y"} -> @mesh {"x", "y"} %a {shift = 3} : tensor<4xi32>
  %1 = spmd.collective_permute @mesh {"x", "y"} -> @mesh {"x", "y"} %0 {pairs = array<i64: 1, 3, 3, 1>} : tensor<4xi32>
  return %1 : tensor<4xi32>
}

// CHECK-LABEL: @shift_behind_pairs
// CHECK-NEXT: spmd.collective_permute @mesh {"x", "y"} -> @mesh {"y", "x"} %arg0 {pairs = array<i64: 1, 0>}
// CHECK-NEXT: return
func.func @shift_behind_pairs(%a: tensor<4xi32>) -> tensor<4xi32> attributes {shoal.spmd} {
  %0 = spmd.collective_permute @mesh {"x", "y"} -> @mesh {"x", "y"} %a {pairs = array<i64: 1, 3>} : tensor<4xi32>
  %1 = spmd.collective_permute @mesh {"x", "y"} -> @mesh {"y", "x"} %0 {shift = 1} : tensor<4xi32>
  return %1 : tensor<4xi32>
}

// CHECK-LABEL: @pairs_of_a_ring
// CHECK-NEXT: spmd.collective_permute @mesh {"x", "y"} -> @mesh {"x", "y"} %arg0 {shift = 3 : i64}
// CHECK-NEXT: return
func.func @pairs_of_a_ring(%a: tensor<4xi32>) -> tensor<4xi32> attributes {shoal.spmd} {
  %0 = spmd.collective_permute @mesh {"x", "y"} -> @mesh {"x", "y"} %a {pairs = array<i64: 1, 0, 0, 3, 2, 1, 3, 2>} : tensor<4xi32>
  return %0 : tensor<4xi32>
}

// CHECK-LABEL: @reversal_of_a_reversal
// CHECK-NEXT: return %arg0
func.func @reversal_of_a_reversal(%a: tensor<4xi32>) -> tensor<4xi32> attributes {shoal.spmd} {
  %0 = spmd.collective_permute @mesh {"x", "y"} -> @mesh {"x", "y"} %a {pairs = array<i64: 0, 3, 1, 2, 2, 1, 3, 0>} : tensor<4xi32>
  %1 = spmd.collective_permute @mesh {"x", "y"} -> @mesh {"x", "y"} %0 {pairs = array<i64: 0, 3, 1, 2, 2, 1, 3, 0>} : tensor<4xi32>
  return %1 : tensor<4xi32>
}

// Some keep what they have; the others have zeros, so it is no copy.
// CHECK-LABEL: @some_keep_theirs
// CHECK-NEXT: spmd.collective_permute @mesh {"x"} -> @mesh {"x"} %arg0 {pairs = array<i64: 1, 1>}
// CHECK-NEXT: return
func.func @some_keep_theirs(%a: tensor<4xi32>) -> tensor<4xi32> attributes {shoal.spmd} {
  %0 = spmd.collective_permute @mesh {"x"} -> @mesh {"x"} %a {pairs = array<i64: 1, 1>} : tensor<4xi32>
  return %0 : tensor<4xi32>
}
