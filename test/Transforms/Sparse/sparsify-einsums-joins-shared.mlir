// The value that a loop carries is the least of fifteen rows, and so of terms
// of which each stands in many others: what of them is known outside of the
// loop is asked of each once. Asked wherever they stand, it took hours.
//
// RUN: shoal-opt %s --shoal-partition | FileCheck %s

// CHECK-LABEL: @carried_min
// CHECK: shoal.while
shoal.mesh @mesh = <["x" = 2, "y" = 4]>
func.func @carried_min(%logits: tensor<3x15x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}, {}]>}, %other: tensor<3x15x3x1xf32>) -> (tensor<3x15x3x1xf32>, tensor<3x3x1xf32>) {
  %combine, %dispatch, %aux = shoal.top_k_gating %logits {capacity = 1 : i64, k = 2 : i64} : tensor<3x15x3xf32> -> tensor<3x15x3x1xf32>, tensor<3x15x3x1xf32>, tensor<f32>
  %least = shoal.reduce min %dispatch dims = [1] : tensor<3x15x3x1xf32> -> tensor<3x3x1xf32>
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %two = arith.constant dense<2> : tensor<i32>
  %r:3 = shoal.while (%i = %zero, %a = %dispatch, %b = %least) : tensor<i32>, tensor<3x15x3x1xf32>, tensor<3x3x1xf32> cond {
    %more = arith.cmpi slt, %i, %two : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %next = arith.addi %i, %one : tensor<i32>
    shoal.yield %next, %other, %b : tensor<i32>, tensor<3x15x3x1xf32>, tensor<3x3x1xf32>
  }
  return %r#1, %r#2 : tensor<3x15x3x1xf32>, tensor<3x3x1xf32>
}
