// A function whose result is used beside its derivative is computed once.
//
// RUN: shoal-opt %s --shoal-differentiate | FileCheck %s

func.func private @f(%x0: tensor<8xf32>) -> tensor<8xf32> {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %three = arith.constant dense<3> : tensor<i32>
  shoal.print "x {0}"(%x0) : (tensor<8xf32>) -> ()
  %r:2 = shoal.while (%i = %zero, %x = %x0) : tensor<i32>, tensor<8xf32> cond {
    %more = arith.cmpi slt, %i, %three : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %next = arith.addi %i, %one : tensor<i32>
    %y = math.tanh %x : tensor<8xf32>
    shoal.yield %next, %y : tensor<i32>, tensor<8xf32>
  }
  return %r#1 : tensor<8xf32>
}
func.func private @f.vjp(tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  attributes {shoal.derivative = {of = @f, wrt = array<i64: 0>, outputs = array<i64: 0>, mode = "vjp"}}

// The cotangent is made of the result: the loop that keeps rows stands in front
// of it, in the place of the function's own; what is printed is printed once.
// CHECK-LABEL: func.func @main(
// CHECK-COUNT-1: shoal.print
// CHECK: %[[LOOP:.+]]:4 = shoal.while
// CHECK: math.absf %[[LOOP]]#1
// CHECK: shoal.while
// CHECK-NOT: shoal.print
// CHECK-NOT: shoal.while
// CHECK: return %[[LOOP]]#1,
func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %y = call @f(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %g = math.absf %y : tensor<8xf32>
  %again, %dx = call @f.vjp(%x, %g) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return %y, %dx : tensor<8xf32>, tensor<8xf32>
}

// Of other arguments it is computed for itself.
// CHECK-LABEL: func.func @others(
// CHECK: call @f(
// CHECK: call @f.vjp(
func.func @others(%x: tensor<8xf32>, %z: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %y = call @f(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %again, %dx = call @f.vjp(%z, %y) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return %y, %dx : tensor<8xf32>, tensor<8xf32>
}
