// What the rows of a reversed loop are of.
//
// RUN: shoal-opt %s --shoal-differentiate="function=loss wrt=0,1" --canonicalize --cse -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: shoal-opt %s --shoal-differentiate="function=again wrt=0,1" --canonicalize --cse | FileCheck %s --check-prefix=AGAIN
// RUN: shoal-opt %s --shoal-differentiate="function=shared wrt=0,1" --canonicalize --cse | FileCheck %s --check-prefix=SHARED
// RUN: shoal-opt %s --shoal-differentiate="function=carried wrt=0,1" --canonicalize --cse | FileCheck %s --check-prefix=CARRIED

// Of the mask its places are kept, eight numbers and not 8 x 16: the backward
// steps make it again.
// CHECK-LABEL: @loss_grad
// CHECK: shoal.while
// CHECK-NOT: tensor<3x8x16xi1>
// CHECK-NOT: tensor<3x8x16xf32>
// CHECK: shoal.dynamic_update_slice {{.*}} -> tensor<3x8xi32>
// CHECK: shoal.while
// CHECK: arith.cmpi eq, {{.*}} tensor<8x16xi32>
// Each step has a row of the weights for itself, of which it is known that none
// counts from the end: their gradient is set there.
// CHECK-NOT: arith.addf {{.*}} tensor<1x8x8xf32>
// CHECK: shoal.dynamic_update_slice {{.*}} -> tensor<3x8x8xf32>
// CHECK: return
func.func @loss(%w: tensor<3x8x8xf32>, %c: tensor<16x8xf32>, %x0: tensor<8x8xf32>) -> tensor<f32> {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %three = arith.constant dense<3> : tensor<i32>
  %r:2 = shoal.while (%i = %zero, %x = %x0) : tensor<i32>, tensor<8x8xf32> cond {
    %more = arith.cmpi slt, %i, %three : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %next = arith.addi %i, %one : tensor<i32>
    %is_negative = arith.cmpi slt, %i, %zero : tensor<i32>
    %from_end = arith.addi %i, %three : tensor<i32>
    %at = arith.select %is_negative, %from_end, %i : tensor<i1>, tensor<i32>
    %row = shoal.dynamic_slice %w[%at, %zero, %zero] sizes = [1, 8, 8] : (tensor<3x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x8xf32>
    %v = shoal.reshape %row : tensor<1x8x8xf32> -> tensor<8x8xf32>
    %places = shoal.argmax %x dim = 1 : tensor<8x8xf32> -> tensor<8xi32>
    %wide = shoal.broadcast_in_dim %places dims = [0] : tensor<8xi32> -> tensor<8x16xi32>
    %numbers = shoal.iota dim = 1 : tensor<8x16xi32>
    %is = arith.cmpi eq, %wide, %numbers : tensor<8x16xi32>
    %mask = arith.uitofp %is : tensor<8x16xi1> to tensor<8x16xf32>
    %y = shoal.einsum "SE,EM->SM" %mask, %c : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
    %h = arith.mulf %y, %x : tensor<8x8xf32>
    %z = shoal.einsum "SM,MN->SN" %h, %v : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    shoal.yield %next, %z : tensor<i32>, tensor<8x8xf32>
  }
  %l = shoal.reduce sum %r#1 dims = [0, 1] : tensor<8x8xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// Two rows of which six steps read one each are read again, and not kept six
// times; where there is a row for each step, slices are kept, as above.
// AGAIN-LABEL: @again_grad
// AGAIN: shoal.while
// AGAIN-NOT: tensor<6x8x8xf32>
// AGAIN: shoal.dynamic_update_slice {{.*}} -> tensor<6x4x8xf32>
// AGAIN: shoal.while
// AGAIN: shoal.dynamic_slice %arg0[{{.*}} -> tensor<1x8x8xf32>
// AGAIN: arith.addf {{.*}} tensor<1x8x8xf32>
// AGAIN: return
func.func @again(%w: tensor<2x8x8xf32>, %x0: tensor<4x8xf32>) -> tensor<f32> {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %two = arith.constant dense<2> : tensor<i32>
  %six = arith.constant dense<6> : tensor<i32>
  %r:2 = shoal.while (%i = %zero, %x = %x0) : tensor<i32>, tensor<4x8xf32> cond {
    %more = arith.cmpi slt, %i, %six : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %next = arith.addi %i, %one : tensor<i32>
    %turn = arith.remsi %i, %two : tensor<i32>
    %row = shoal.dynamic_slice %w[%turn, %zero, %zero] sizes = [1, 8, 8] : (tensor<2x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x8xf32>
    %v = shoal.reshape %row : tensor<1x8x8xf32> -> tensor<8x8xf32>
    %z = shoal.einsum "SM,MN->SN" %x, %v : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    shoal.yield %next, %z : tensor<i32>, tensor<4x8xf32>
  }
  %l = shoal.reduce sum %r#1 dims = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// What each step carries on as it came is not kept: a scan of JAX has the
// weights that its steps share there.
// SHARED-LABEL: @shared_grad
// SHARED: shoal.while
// SHARED-NOT: tensor<5x8x8xf32>
// SHARED: shoal.dynamic_update_slice {{.*}} -> tensor<5x4x8xf32>
// SHARED: shoal.while
// SHARED: shoal.einsum {{.*}}, %arg0 :
// SHARED: return
func.func @shared(%w0: tensor<8x8xf32>, %x0: tensor<4x8xf32>) -> tensor<f32> {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %five = arith.constant dense<5> : tensor<i32>
  %r:3 = shoal.while (%i = %zero, %w = %w0, %x = %x0) : tensor<i32>, tensor<8x8xf32>, tensor<4x8xf32> cond {
    %more = arith.cmpi slt, %i, %five : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %next = arith.addi %i, %one : tensor<i32>
    %z = shoal.einsum "SM,MN->SN" %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    shoal.yield %next, %w, %z : tensor<i32>, tensor<8x8xf32>, tensor<4x8xf32>
  }
  %l = shoal.reduce sum %r#2 dims = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// Nor is their gradient carried back from a result that nobody has: where each
// step has a row, it is set.
// CARRIED-LABEL: @carried_grad
// CARRIED: shoal.while
// CARRIED: shoal.while
// CARRIED-NOT: arith.addf {{.*}} tensor<1x8x8xf32>
// CARRIED: shoal.dynamic_update_slice {{.*}} -> tensor<5x8x8xf32>
// CARRIED: return
func.func @carried(%w0: tensor<5x8x8xf32>, %x0: tensor<4x8xf32>) -> tensor<f32> {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %five = arith.constant dense<5> : tensor<i32>
  %r:3 = shoal.while (%i = %zero, %w = %w0, %x = %x0) : tensor<i32>, tensor<5x8x8xf32>, tensor<4x8xf32> cond {
    %more = arith.cmpi slt, %i, %five : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %next = arith.addi %i, %one : tensor<i32>
    %row = shoal.dynamic_slice %w[%i, %zero, %zero] sizes = [1, 8, 8] : (tensor<5x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x8xf32>
    %v = shoal.reshape %row : tensor<1x8x8xf32> -> tensor<8x8xf32>
    %z = shoal.einsum "SM,MN->SN" %x, %v : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    shoal.yield %next, %w, %z : tensor<i32>, tensor<5x8x8xf32>, tensor<4x8xf32>
  }
  %l = shoal.reduce sum %r#2 dims = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %l : tensor<f32>
}
