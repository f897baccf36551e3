// RUN: shoal-opt %s | shoal-opt | FileCheck %s
// RUN: shoal-opt %s -canonicalize | FileCheck %s --check-prefix=CANON

// CHECK-LABEL: @loop
// CHECK: %[[R:.+]]:2 = shoal.while (%[[I:.+]] = %{{.+}}, %[[A:.+]] = %{{.+}}) : tensor<i32>, tensor<8x8xf32> cond {
// CHECK-NEXT: %[[C:.+]] = arith.cmpi slt, %[[I]], %{{.+}} : tensor<i32>
// CHECK-NEXT: shoal.yield %[[C]] : tensor<i1>
// CHECK-NEXT: } do {
// CHECK: %[[B:.+]] = arith.addf %[[A]], %{{.+}} : tensor<8x8xf32>
// CHECK-NEXT: shoal.yield %{{.+}}, %[[B]] : tensor<i32>, tensor<8x8xf32>
// CHECK: return %[[R]]#1
func.func @loop(%x: tensor<8x8xf32>, %n: tensor<i32>) -> tensor<8x8xf32> {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %r:2 = shoal.while (%i = %zero, %a = %x) : tensor<i32>, tensor<8x8xf32> cond {
    %more = arith.cmpi slt, %i, %n : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %next = arith.addi %i, %one : tensor<i32>
    %b = arith.addf %a, %x : tensor<8x8xf32>
    shoal.yield %next, %b : tensor<i32>, tensor<8x8xf32>
  }
  return %r#1 : tensor<8x8xf32>
}

// A loop of nothing but its condition, with an attribute.
// CHECK-LABEL: @no_values
// CHECK: shoal.while () attributes {note = "spin"} cond {
func.func @no_values(%go: tensor<i1>) {
  shoal.while () attributes {note = "spin"} cond {
    shoal.yield %go : tensor<i1>
  } do {
    shoal.yield
  }
  return
}

// CHECK-LABEL: @choose
// CHECK: shoal.case %{{.+}} : (tensor<i32>) -> (tensor<4xf32>, tensor<i1>) {
// CHECK: }, {
// CHECK: }, {
func.func @choose(%i: tensor<i32>, %x: tensor<4xf32>, %p: tensor<i1>) -> (tensor<4xf32>, tensor<i1>) {
  %r:2 = shoal.case %i : (tensor<i32>) -> (tensor<4xf32>, tensor<i1>) {
    shoal.yield %x, %p : tensor<4xf32>, tensor<i1>
  }, {
    %y = math.exp %x : tensor<4xf32>
    shoal.yield %y, %p : tensor<4xf32>, tensor<i1>
  }, {
    %y = arith.negf %x : tensor<4xf32>
    shoal.yield %y, %p : tensor<4xf32>, tensor<i1>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<i1>
}

// Branch 7 is the last; true is the first.
// CANON-LABEL: @known
// CANON-NEXT: %[[A:.+]] = math.exp
// CANON-NEXT: %[[B:.+]] = math.sin
// CANON-NEXT: return %[[A]], %[[B]]
func.func @known(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %seven = arith.constant dense<7> : tensor<i32>
  %true = arith.constant dense<true> : tensor<i1>
  %a = shoal.case %seven : (tensor<i32>) -> tensor<4xf32> {
    %y = math.sin %x : tensor<4xf32>
    shoal.yield %y : tensor<4xf32>
  }, {
    %y = math.exp %x : tensor<4xf32>
    shoal.yield %y : tensor<4xf32>
  }
  %b = shoal.case %true : (tensor<i1>) -> tensor<4xf32> {
    %y = math.sin %x : tensor<4xf32>
    shoal.yield %y : tensor<4xf32>
  }, {
    %y = math.exp %x : tensor<4xf32>
    shoal.yield %y : tensor<4xf32>
  }
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// Nothing folds across a barrier.
// CANON-LABEL: @barrier
// CANON: %[[C:.+]] = arith.constant
// CANON: %[[B:.+]]:2 = shoal.optimization_barrier %[[C]], %{{.+}} : tensor<4xf32>, tensor<i1>
// CANON: math.exp %[[B]]#0
func.func @barrier(%p: tensor<i1>) -> (tensor<4xf32>, tensor<i1>) {
  %c = arith.constant dense<0.0> : tensor<4xf32>
  %b:2 = shoal.optimization_barrier %c, %p : tensor<4xf32>, tensor<i1>
  %y = math.exp %b#0 : tensor<4xf32>
  return %y, %b#1 : tensor<4xf32>, tensor<i1>
}

// CHECK-LABEL: @remat_boundaries
// CHECK: shoal.remat_boundary %{{.*}}, %{{.*}} {policy = "dots", region = 1 : i64} : tensor<4xf32>, tensor<i1>
// CHECK: shoal.checkpoint_name %{{.*}} "scores" : tensor<4xf32>
// CHECK: shoal.remat_boundary %{{.*}} {region = 1 : i64} : tensor<4xf32>
func.func @remat_boundaries(%x: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {
  %in:2 = shoal.remat_boundary %x, %p {region = 1, policy = "dots"} : tensor<4xf32>, tensor<i1>
  %n = shoal.checkpoint_name %in#0 "scores" : tensor<4xf32>
  %out = shoal.remat_boundary %n {region = 1} : tensor<4xf32>
  return %out : tensor<4xf32>
}
