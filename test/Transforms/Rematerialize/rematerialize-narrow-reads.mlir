// A loop that reads rows of a widened stack widens the rows, and what it
// narrows again is never wide; a stack that something else reads, too, stays.
//
// RUN: shoal-opt %s --shoal-rematerialize -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: shoal-run %s --entry=layers --random-inputs=1 --output-dir=%t.wide
// RUN: shoal-run %t.mlir --entry=layers --random-inputs=1 --output-dir=%t.narrow
// RUN: diff -r %t.wide %t.narrow

// CHECK-LABEL: func.func @layers(
// CHECK-SAME: %[[STACK:[a-z0-9]+]]: tensor<3x4x4xbf16>, %[[BIASES:[a-z0-9]+]]: tensor<3x4xbf16>
// CHECK-NOT: arith.extf %[[STACK]]
// CHECK-NOT: arith.extf %[[BIASES]]
// CHECK: shoal.while
// CHECK: %[[ROW:.*]] = shoal.dynamic_slice %[[STACK]]
// CHECK-NEXT: %[[W:.*]] = shoal.reshape %[[ROW]] : tensor<1x4x4xbf16> -> tensor<4x4xbf16>
// CHECK: shoal.einsum "a,ab->b" %{{.*}}, %[[W]]
// CHECK: %[[BIAS:.*]] = shoal.dynamic_slice %[[BIASES]]
// CHECK-NEXT: arith.extf %[[BIAS]] : tensor<1x4xbf16> to tensor<1x4xf32>
// CHECK: shoal.dynamic_slice %{{.*}} : (tensor<3x4xf32>
func.func @layers(%stack: tensor<3x4x4xbf16>, %biases: tensor<3x4xbf16>,
                  %scales: tensor<3x4xbf16>, %x: tensor<4xbf16>)
    -> (tensor<4xbf16>, tensor<3x4xf32>) {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %three = arith.constant dense<3> : tensor<i32>
  %wide = arith.extf %stack : tensor<3x4x4xbf16> to tensor<3x4x4xf32>
  %wide_biases = arith.extf %biases : tensor<3x4xbf16> to tensor<3x4xf32>
  %wide_scales = arith.extf %scales : tensor<3x4xbf16> to tensor<3x4xf32>
  %r:2 = shoal.while (%i = %zero, %y = %x) : tensor<i32>, tensor<4xbf16> cond {
    %more = arith.cmpi slt, %i, %three : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %next = arith.addi %i, %one : tensor<i32>
    %row = shoal.dynamic_slice %wide[%i, %zero, %zero] sizes = [1, 4, 4] : (tensor<3x4x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x4xf32>
    %matrix = shoal.reshape %row : tensor<1x4x4xf32> -> tensor<4x4xf32>
    %w = arith.truncf %matrix : tensor<4x4xf32> to tensor<4x4xbf16>
    %product = shoal.einsum "a,ab->b" %y, %w : (tensor<4xbf16>, tensor<4x4xbf16>) -> tensor<4xbf16>
    %bias_row = shoal.dynamic_slice %wide_biases[%i, %zero] sizes = [1, 4] : (tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %bias = shoal.reshape %bias_row : tensor<1x4xf32> -> tensor<4xf32>
    %scale_row = shoal.dynamic_slice %wide_scales[%i, %zero] sizes = [1, 4] : (tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %scale = shoal.reshape %scale_row : tensor<1x4xf32> -> tensor<4xf32>
    %p = arith.extf %product : tensor<4xbf16> to tensor<4xf32>
    %scaled = arith.mulf %p, %scale : tensor<4xf32>
    %sum = arith.addf %scaled, %bias : tensor<4xf32>
    %narrow = arith.truncf %sum : tensor<4xf32> to tensor<4xbf16>
    shoal.yield %next, %narrow : tensor<i32>, tensor<4xbf16>
  }
  return %r#1, %wide_scales : tensor<4xbf16>, tensor<3x4xf32>
}
