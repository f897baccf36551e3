// RUN: shoal-opt %s --shoal-hoist-collectives | FileCheck %s

shoal.mesh @mesh = <["x" = 2]>

// The weights are gathered once: they go through the loop unchanged. The
// tokens are not the same in each iteration.
// CHECK-LABEL: @weights
// CHECK: %[[H:.*]] = math.exp %arg0
// CHECK-NEXT: %[[W:.*]] = spmd.all_gather @mesh [{"x"}] %[[H]]
// CHECK-NEXT: scf.for
// CHECK-NEXT: %[[T:.*]] = spmd.all_gather @mesh [{"x"}] %{{.*}}
// CHECK-NEXT: arith.addf %[[T]], %[[W]]
func.func @weights(%w: tensor<2xf32>, %t: tensor<2xf32>, %n: index) -> tensor<2xf32> attributes {shoal.spmd} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %0:2 = scf.for %i = %zero to %n step %one iter_args(%v = %w, %tokens = %t) -> (tensor<2xf32>, tensor<2xf32>) {
    %1 = math.exp %v : tensor<2xf32>
    %2 = spmd.all_gather @mesh [{"x"}] %1 : tensor<2xf32> -> tensor<4xf32>
    %3 = spmd.all_gather @mesh [{"x"}] %tokens : tensor<2xf32> -> tensor<4xf32>
    %4 = arith.addf %3, %2 : tensor<4xf32>
    %5 = spmd.all_slice @mesh [{"x"}] %4 : tensor<4xf32> -> tensor<2xf32>
    scf.yield %v, %5 : tensor<2xf32>, tensor<2xf32>
  }
  return %0#1 : tensor<2xf32>
}

// In a while, a value goes through both regions.
// CHECK-LABEL: @while
// CHECK: spmd.all_reduce sum @mesh {"x"} %arg0
// CHECK-NEXT: scf.while
// CHECK-NOT: spmd
func.func @while(%w: tensor<f32>, %t: tensor<f32>) -> tensor<f32> attributes {shoal.spmd} {
  %limit = arith.constant 10.0 : f32
  %0:2 = scf.while (%a = %w, %b = %t) : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    %1 = tensor.extract %b[] : tensor<f32>
    %2 = arith.cmpf olt, %1, %limit : f32
    scf.condition(%2) %a, %b : tensor<f32>, tensor<f32>
  } do {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %3 = spmd.all_reduce sum @mesh {"x"} %a : tensor<f32>
    %4 = arith.addf %b, %3 : tensor<f32>
    scf.yield %a, %4 : tensor<f32>, tensor<f32>
  }
  return %0#1 : tensor<f32>
}

// It may never run, and does so on no iteration's behalf.
// CHECK-LABEL: @in_a_branch
// CHECK: scf.for
// CHECK: scf.if
// CHECK-NEXT: spmd.all_reduce
func.func @in_a_branch(%w: tensor<f32>, %n: index, %c: i1) -> tensor<f32> attributes {shoal.spmd} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %0 = scf.for %i = %zero to %n step %one iter_args(%v = %w) -> tensor<f32> {
    %1 = scf.if %c -> tensor<f32> {
      %2 = spmd.all_reduce sum @mesh {"x"} %w : tensor<f32>
      scf.yield %2 : tensor<f32>
    } else {
      scf.yield %v : tensor<f32>
    }
    scf.yield %1 : tensor<f32>
  }
  return %0 : tensor<f32>
}

// Swapped values are each other's; neither stays.
// CHECK-LABEL: @swap
// CHECK: scf.for
// CHECK-NEXT: spmd.all_reduce
func.func @swap(%a: tensor<f32>, %b: tensor<f32>, %n: index) -> tensor<f32> attributes {shoal.spmd} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %0:3 = scf.for %i = %zero to %n step %one iter_args(%v = %a, %w = %b, %s = %b) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
    %1 = spmd.all_reduce sum @mesh {"x"} %v : tensor<f32>
    %2 = arith.addf %s, %1 : tensor<f32>
    scf.yield %w, %v, %2 : tensor<f32>, tensor<f32>, tensor<f32>
  }
  return %0#2 : tensor<f32>
}

// The loops of the dialect, with values from outside and values carried. What
// changes stays, and so does what a branch may never run.
// CHECK-LABEL: @dialect
// CHECK: %[[A:.*]] = spmd.all_reduce sum @mesh {"x"} %arg0
// CHECK: %[[B:.*]] = spmd.all_gather @mesh [{"x"}] %arg1
// CHECK: shoal.while
// CHECK: do {
// CHECK: %[[C:.*]] = spmd.all_reduce sum @mesh {"x"} %[[T:.*]] :
// CHECK: shoal.case
// CHECK: spmd.all_reduce max @mesh {"x"} %arg1
func.func @dialect(%w: tensor<f32>, %v: tensor<2xf32>, %c: tensor<i1>) -> tensor<f32> attributes {shoal.spmd} {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %r:3 = shoal.while (%i = %zero, %a = %w, %t = %w) : tensor<i32>, tensor<f32>, tensor<f32> cond {
    %more = arith.cmpi slt, %i, %one : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %next = arith.addi %i, %one : tensor<i32>
    %1 = spmd.all_reduce sum @mesh {"x"} %a : tensor<f32>
    %2 = spmd.all_gather @mesh [{"x"}] %v : tensor<2xf32> -> tensor<4xf32>
    %3 = shoal.reduce sum %2 dims = [0] : tensor<4xf32> -> tensor<f32>
    %4 = spmd.all_reduce sum @mesh {"x"} %t : tensor<f32>
    %5 = shoal.case %c : (tensor<i1>) -> tensor<2xf32> {
      shoal.yield %v : tensor<2xf32>
    }, {
      %6 = spmd.all_reduce max @mesh {"x"} %v : tensor<2xf32>
      shoal.yield %6 : tensor<2xf32>
    }
    %7 = shoal.reduce sum %5 dims = [0] : tensor<2xf32> -> tensor<f32>
    %8 = arith.addf %1, %3 : tensor<f32>
    %9 = arith.addf %8, %4 : tensor<f32>
    %10 = arith.addf %9, %7 : tensor<f32>
    shoal.yield %next, %a, %10 : tensor<i32>, tensor<f32>, tensor<f32>
  }
  return %r#2 : tensor<f32>
}
