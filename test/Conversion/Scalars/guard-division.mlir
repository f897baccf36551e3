// RUN: shoal-opt %s --pass-pipeline="builtin.module(func.func(shoal-guard-division))" | FileCheck %s

// CHECK-LABEL: @unsigned
func.func @unsigned(%a: i32, %b: i32) -> i32 {
  // CHECK: %[[NONE:.*]] = arith.cmpi eq, %arg1, %{{.*}} : i32
  // CHECK: %[[SAFE:.*]] = arith.select %[[NONE]], %{{.*}}, %arg1 : i32
  // CHECK: arith.divui %arg0, %[[SAFE]]
  %0 = arith.divui %a, %b : i32
  return %0 : i32
}

// The smallest number has no quotient by -1.
// CHECK-LABEL: @signed
func.func @signed(%a: i8, %b: i8) -> i8 {
  // CHECK: arith.constant -128 : i8
  // CHECK: arith.ori
  // CHECK: %[[SAFE:.*]] = arith.select
  // CHECK: arith.remsi %arg0, %[[SAFE]]
  %0 = arith.remsi %a, %b : i8
  return %0 : i8
}

// CHECK-LABEL: @by_a_constant
func.func @by_a_constant(%a: i32) -> i32 {
  // CHECK-NOT: arith.select
  %c = arith.constant 7 : i32
  %0 = arith.divsi %a, %c : i32
  return %0 : i32
}
