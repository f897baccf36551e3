// RUN: shoal-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(shoal-merge-equal-ops))' | FileCheck %s
// Of a module, too, and with cse's own result.
// RUN: shoal-opt %s --split-input-file --shoal-merge-equal-ops > %t.ours
// RUN: shoal-opt %s --split-input-file --cse > %t.upstream
// RUN: diff %t.ours %t.upstream

// CHECK-NOT: hash

// CHECK-LABEL: func.func @equal_loops_become_one
// CHECK: %[[MAP:.*]] = linalg.map
// CHECK-NOT: linalg.map
// CHECK: return %[[MAP]], %[[MAP]]
func.func @equal_loops_become_one(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %init = tensor.empty() : tensor<8xf32>
  %0 = linalg.map { math.exp } ins(%x : tensor<8xf32>) outs(%init : tensor<8xf32>)
  %1 = linalg.map { math.exp } ins(%x : tensor<8xf32>) outs(%init : tensor<8xf32>)
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// What loops read from outside becomes one meanwhile.
// CHECK-LABEL: func.func @what_they_read_becomes_one_meanwhile
// CHECK-COUNT-1: arith.mulf
// CHECK: %[[MAP:.*]] = linalg.map
// CHECK-NOT: linalg.map
// CHECK: return %[[MAP]], %[[MAP]]
func.func @what_they_read_becomes_one_meanwhile(%x: tensor<8xf32>, %a: f32, %b: f32) -> (tensor<8xf32>, tensor<8xf32>) {
  %init = tensor.empty() : tensor<8xf32>
  %p = arith.mulf %a, %b : f32
  %q = arith.mulf %a, %b : f32
  %0 = linalg.map ins(%x : tensor<8xf32>) outs(%init : tensor<8xf32>) (%in: f32, %out: f32) {
    %s = arith.addf %in, %p : f32
    linalg.yield %s : f32
  }
  %1 = linalg.map ins(%x : tensor<8xf32>) outs(%init : tensor<8xf32>) (%in: f32, %out: f32) {
    %s = arith.addf %in, %q : f32
    linalg.yield %s : f32
  }
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @other_loops_stay
// CHECK-COUNT-4: linalg.map
func.func @other_loops_stay(%x: tensor<8xf32>, %a: f32) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %init = tensor.empty() : tensor<8xf32>
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %0 = linalg.map ins(%x : tensor<8xf32>) outs(%init : tensor<8xf32>) (%in: f32, %out: f32) {
    %s = arith.addf %in, %one : f32
    linalg.yield %s : f32
  }
  %1 = linalg.map ins(%x : tensor<8xf32>) outs(%init : tensor<8xf32>) (%in: f32, %out: f32) {
    %s = arith.addf %in, %two : f32
    linalg.yield %s : f32
  }
  %2 = linalg.map ins(%x : tensor<8xf32>) outs(%init : tensor<8xf32>) (%in: f32, %out: f32) {
    %s = arith.subf %in, %a : f32
    linalg.yield %s : f32
  }
  %3 = linalg.map ins(%x : tensor<8xf32>) outs(%init : tensor<8xf32>) (%in: f32, %out: f32) {
    %s = arith.subf %a, %in : f32
    linalg.yield %s : f32
  }
  return %0, %1, %2, %3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// Loops in regions of others; an attribute of the user's stays.
// CHECK-LABEL: func.func @loops_in_loops
// CHECK: scf.for
// CHECK: scf.for
// CHECK: {mine}
// CHECK-NOT: scf.for
func.func @loops_in_loops(%x: f32, %n: index) -> (f32, f32) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %0 = scf.for %i = %zero to %n step %one iter_args(%r = %x) -> f32 {
    %1 = scf.for %j = %zero to %n step %one iter_args(%s = %r) -> f32 {
      %t = arith.addf %s, %s : f32
      scf.yield %t : f32
    } {mine}
    scf.yield %1 : f32
  }
  %2 = scf.for %i = %zero to %n step %one iter_args(%r = %x) -> f32 {
    %3 = scf.for %j = %zero to %n step %one iter_args(%s = %r) -> f32 {
      %t = arith.addf %s, %s : f32
      scf.yield %t : f32
    } {mine}
    scf.yield %3 : f32
  }
  return %0, %2 : f32, f32
}
