// Rows that a loop keeps for one that walks it backwards.
//
// RUN: shoal-opt %s --shoal-differentiate="function=loss wrt=0" --canonicalize --cse --shoal-rematerialize | FileCheck %s --check-prefix=ALL
// RUN: shoal-opt %s --shoal-differentiate="function=loss wrt=0" --canonicalize --cse --shoal-rematerialize=remat=nothing -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: shoal-opt %s --shoal-differentiate="function=layers wrt=1" --canonicalize --cse --shoal-rematerialize | FileCheck %s --check-prefix=SLICE
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

// The weights of a step are read again where they lie, whatever the policy: a
// row of them is read by a slice as well.
// SLICE-LABEL: @layers_grad
// SLICE-NOT: not kept
// SLICE-NOT: shoal.dynamic_update_slice
// SLICE: shoal.dynamic_slice %arg0
// SLICE-NOT: shoal.dynamic_update_slice
// SLICE: return
func.func @layers(%w: tensor<3x8xf32>, %x: tensor<8xf32>) -> tensor<f32> {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %three = arith.constant dense<3> : tensor<i32>
  %r:2 = shoal.while (%i = %zero, %h = %x) : tensor<i32>, tensor<8xf32> cond {
    %more = arith.cmpi slt, %i, %three : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %next = arith.addi %i, %one : tensor<i32>
    %row = shoal.dynamic_slice %w[%i, %zero] sizes = [1, 8] : (tensor<3x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
    %layer = shoal.reshape %row : tensor<1x8xf32> -> tensor<8xf32>
    %y = arith.mulf %h, %layer : tensor<8xf32>
    shoal.yield %next, %y : tensor<i32>, tensor<8xf32>
  }
  %l = shoal.reduce sum %r#1 dims = [0] : tensor<8xf32> -> tensor<f32>
  return %l : tensor<f32>
}
