// Rows that a loop keeps for one that walks it backwards.
//
// RUN: shoal-opt %s --shoal-differentiate="function=loss wrt=0" --canonicalize --cse --shoal-rematerialize | FileCheck %s --check-prefix=ALL
// RUN: shoal-opt %s --shoal-differentiate="function=loss wrt=0" --canonicalize --cse --shoal-rematerialize=remat=nothing -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: shoal-opt %s --shoal-differentiate="function=loss wrt=0" --canonicalize --cse -o %t.all.mlir
// RUN: shoal-run %t.all.mlir --entry=loss_grad --random-inputs=1 --output-dir=%t.all
// RUN: shoal-run %t.mlir --entry=loss_grad --random-inputs=1 --output-dir=%t.again
// RUN: diff -r %t.all %t.again

// The loop keeps x, from which the sine is differentiated, and the tanh.
// ALL-LABEL: @loss_grad
// ALL: shoal.while
// ALL-COUNT-2: shoal.dynamic_update_slice
// ALL: shoal.while

// Only x is carried, so rows of it are all that is needed.
// CHECK-LABEL: @loss_grad
// CHECK-SAME: rows of 1 values of loops, 96 bytes, are not kept
// CHECK: shoal.while
// CHECK-COUNT-1: shoal.dynamic_update_slice
// CHECK-NOT: shoal.dynamic_update_slice
// CHECK: shoal.while
// CHECK: shoal.dynamic_slice
// CHECK: %[[S:.*]] = math.sin
// CHECK: math.tanh %[[S]]
// CHECK: math.cos
func.func @loss(%w: tensor<8xf32>) -> tensor<f32> {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %three = arith.constant dense<3> : tensor<i32>
  %r:2 = shoal.while (%i = %zero, %x = %w) : tensor<i32>, tensor<8xf32> cond {
    %more = arith.cmpi slt, %i, %three : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %next = arith.addi %i, %one : tensor<i32>
    %s = math.sin %x : tensor<8xf32>
    %t = math.tanh %s : tensor<8xf32>
    %y = arith.mulf %t, %x : tensor<8xf32>
    shoal.yield %next, %y : tensor<i32>, tensor<8xf32>
  }
  %l = shoal.reduce sum %r#1 dims = [0] : tensor<8xf32> -> tensor<f32>
  return %l : tensor<f32>
}
