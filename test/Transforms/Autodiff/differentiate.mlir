// RUN: shoal-opt %s --shoal-differentiate --canonicalize --split-input-file | FileCheck %s

// A product: each operand's gradient is that of the cotangent and the other one. What neither has is summed alone.
// CHECK-LABEL: func.func private @product_vjp
// CHECK-SAME: %[[X:.*]]: tensor<5x4xf32>, %[[W:.*]]: tensor<4x3xf32>, %[[G:.*]]: tensor<3xf32>
// CHECK: %[[Y:.*]] = shoal.einsum "BM,MH->H" %[[X]], %[[W]]
// CHECK: %[[DX:.*]] = shoal.einsum "H,MH->M" %[[G]], %[[W]]
// CHECK: %[[SPREAD:.*]] = shoal.broadcast_in_dim %[[DX]] dims = [1]
// CHECK: %[[DW:.*]] = shoal.einsum "H,BM->MH" %[[G]], %[[X]]
// CHECK: return %[[Y]], %[[SPREAD]], %[[DW]]
func.func private @product(%x: tensor<5x4xf32>, %w: tensor<4x3xf32>) -> tensor<3xf32> {
  %y = shoal.einsum "BM,MH->H" %x, %w : (tensor<5x4xf32>, tensor<4x3xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}
func.func private @product_vjp(tensor<5x4xf32>, tensor<4x3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<5x4xf32>, tensor<4x3xf32>)
  attributes {shoal.derivative = {of = @product, wrt = array<i64: 0, 1>, outputs = array<i64: 0>, mode = "vjp"}}

// -----

// What stops, and what has no gradient, is a constant; an argument that nothing depends on has a gradient of zeros.
// CHECK-LABEL: func.func private @stopped_grad
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK: return %[[ZERO]]
func.func private @stopped(%x: tensor<4xf32>) -> tensor<f32> {
  %a = shoal.stop_gradient %x : tensor<4xf32>
  %b = math.floor %x : tensor<4xf32>
  %c = arith.mulf %a, %b : tensor<4xf32>
  %s = shoal.reduce sum %c dims = [0] : tensor<4xf32> -> tensor<f32>
  return %s : tensor<f32>
}
func.func private @stopped_grad(tensor<4xf32>) -> tensor<4xf32>
  attributes {shoal.derivative = {of = @stopped, wrt = array<i64: 0>, outputs = array<i64: 0>, mode = "grad"}}

// -----

// An annotation is a hint for the cotangent.
// CHECK-LABEL: func.func private @annotated_vjp
// CHECK: shoal.sharding_constraint %{{.*}} <@mesh, [{"d"}{{ ?}}]> : tensor<4xf32>
// CHECK: shoal.sharding_constraint %{{.*}} <@mesh, [{"d"}{{ ?}}]> {hint} : tensor<4xf32>
shoal.mesh @mesh = <["d" = 2]>
func.func private @annotated(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = shoal.sharding_constraint %x <@mesh, [{"d"}]> : tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func private @annotated_vjp(tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  attributes {shoal.derivative = {of = @annotated, wrt = array<i64: 0>, outputs = array<i64: 0>, mode = "vjp"}}

// -----

// A loop keeps a row for each step of what its gradient reads, but not of its counter; the second loop runs the same number of
// times.
// CHECK-LABEL: func.func private @loop_grad
// CHECK: %[[ROWS:.*]] = arith.constant dense<0.000000e+00> : tensor<6x4xf32>
// CHECK: %[[FORWARD:.*]]:{{[45]}} = shoal.while
// CHECK-SAME: tensor<6x4xf32>
// CHECK: math.sin
// CHECK: shoal.dynamic_update_slice
// CHECK: shoal.while
// CHECK: shoal.dynamic_slice
// CHECK: math.cos
func.func private @loop(%x: tensor<4xf32>) -> tensor<f32> {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %n = arith.constant dense<6> : tensor<i32>
  %r:2 = shoal.while (%i = %zero, %a = %x) : tensor<i32>, tensor<4xf32> cond {
    %more = arith.cmpi slt, %i, %n : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %next = arith.addi %i, %one : tensor<i32>
    %b = math.sin %a : tensor<4xf32>
    shoal.yield %next, %b : tensor<i32>, tensor<4xf32>
  }
  %s = shoal.reduce sum %r#1 dims = [0] : tensor<4xf32> -> tensor<f32>
  return %s : tensor<f32>
}
func.func private @loop_grad(tensor<4xf32>) -> tensor<4xf32>
  attributes {shoal.derivative = {of = @loop, wrt = array<i64: 0>, outputs = array<i64: 0>, mode = "grad"}}

// -----

// Weights kept in f32 and used in bf16: their gradient is not rounded in between.
// CHECK-LABEL: func.func private @mixed_vjp
// CHECK: shoal.einsum "BH,BM->MH" %{{.*}} : (tensor<5x3xbf16>, tensor<5x4xbf16>) -> tensor<4x3xf32>
// CHECK-NOT: arith.extf
func.func private @mixed(%x: tensor<5x4xbf16>, %w: tensor<4x3xf32>) -> tensor<5x3xbf16> {
  %v = arith.truncf %w : tensor<4x3xf32> to tensor<4x3xbf16>
  %y = shoal.einsum "BM,MH->BH" %x, %v : (tensor<5x4xbf16>, tensor<4x3xbf16>) -> tensor<5x3xbf16>
  return %y : tensor<5x3xbf16>
}
func.func private @mixed_vjp(tensor<5x4xbf16>, tensor<4x3xf32>, tensor<5x3xbf16>) -> (tensor<5x3xbf16>, tensor<4x3xf32>)
  attributes {shoal.derivative = {of = @mixed, wrt = array<i64: 1>, outputs = array<i64: 0>, mode = "vjp"}}

// -----

// A derivative of a derivative: 6 x.
// CHECK-LABEL: func.func private @second
// CHECK-NOT: call
// CHECK-COUNT-5: arith.addf
// CHECK-NEXT: return
func.func private @cube(%x: tensor<f32>) -> tensor<f32> {
  %a = arith.mulf %x, %x : tensor<f32>
  %b = arith.mulf %a, %x : tensor<f32>
  return %b : tensor<f32>
}
func.func private @first(tensor<f32>) -> tensor<f32>
  attributes {shoal.derivative = {of = @cube, wrt = array<i64: 0>, outputs = array<i64: 0>, mode = "grad"}}
func.func private @twice(%x: tensor<f32>) -> tensor<f32> {
  %a = call @first(%x) : (tensor<f32>) -> tensor<f32>
  return %a : tensor<f32>
}
func.func private @second(tensor<f32>) -> tensor<f32>
  attributes {shoal.derivative = {of = @twice, wrt = array<i64: 0>, outputs = array<i64: 0>, mode = "grad"}}

// -----

// Rows that are read apart become one gradient side by side: those that are read twice are added, those that nobody reads are
// zeros, and what overlaps others is padded and added.
// CHECK-LABEL: func.func private @rows_vjp
// CHECK-SAME: %{{.*}}: tensor<8x2xf32>, %[[A:.*]]: tensor<2x2xf32>, %[[B:.*]]: tensor<3x2xf32>, %[[C:.*]]: tensor<2x2xf32>, %[[D:.*]]: tensor<2x2xf32>
// CHECK: %[[NONE:.*]] = arith.constant dense<0.000000e+00> : tensor<1x2xf32>
// CHECK: %[[TWICE:.*]] = arith.addf %[[C]], %[[A]]
// CHECK: %[[ROWS:.*]] = shoal.concatenate %[[TWICE]], %[[NONE]], %[[B]], %{{.*}} dim = 0 : (tensor<2x2xf32>, tensor<1x2xf32>, tensor<3x2xf32>, tensor<2x2xf32>
// CHECK: %[[OVER:.*]] = shoal.pad %[[D]], %{{.*}} low = [4, 0] high = [2, 0]
// CHECK: %[[DX:.*]] = arith.addf %[[ROWS]], %[[OVER]]
// CHECK: return {{.*}}, %[[DX]]
func.func private @rows(%x: tensor<8x2xf32>) -> (tensor<2x2xf32>, tensor<3x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) {
  %a = shoal.slice %x starts = [0, 0] limits = [2, 2] strides = [1, 1] : tensor<8x2xf32> -> tensor<2x2xf32>
  %b = shoal.slice %x starts = [3, 0] limits = [6, 2] strides = [1, 1] : tensor<8x2xf32> -> tensor<3x2xf32>
  %c = shoal.slice %x starts = [0, 0] limits = [2, 2] strides = [1, 1] : tensor<8x2xf32> -> tensor<2x2xf32>
  %d = shoal.slice %x starts = [4, 0] limits = [6, 2] strides = [1, 1] : tensor<8x2xf32> -> tensor<2x2xf32>
  return %a, %b, %c, %d : tensor<2x2xf32>, tensor<3x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}
func.func private @rows_vjp(tensor<8x2xf32>, tensor<2x2xf32>, tensor<3x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<3x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<8x2xf32>)
  attributes {shoal.derivative = {of = @rows, wrt = array<i64: 0>, outputs = array<i64: 0, 1, 2, 3>, mode = "vjp"}}
