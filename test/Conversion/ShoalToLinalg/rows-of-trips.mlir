// RUN: shoal-opt %s --shoal-to-linalg --split-input-file | FileCheck %s

// Rows that trips write before anything reads them need no value before.
// CHECK-LABEL: func.func @up
// CHECK: %[[ROWS:.*]] = tensor.empty() : tensor<3x4xf32>
// CHECK: scf.while {{.*}}%{{.*}} = %[[ROWS]])
func.func @up(%x: tensor<4xf32>) -> tensor<3x4xf32> {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %last = arith.constant dense<2> : tensor<i32>
  %three = arith.constant dense<3> : tensor<i32>
  %rows = arith.constant dense<0.0> : tensor<3x4xf32>
  %r:3 = shoal.while (%i = %zero, %v = %x, %kept = %rows) : tensor<i32>, tensor<4xf32>, tensor<3x4xf32> cond {
    %more = arith.cmpi slt, %i, %three : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %next = arith.addi %i, %one : tensor<i32>
    %down = arith.subi %last, %i : tensor<i32>
    %w = arith.addf %v, %v : tensor<4xf32>
    %row = shoal.reshape %w : tensor<4xf32> -> tensor<1x4xf32>
    %k = shoal.dynamic_update_slice %kept, %row[%i, %zero] : (tensor<3x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<3x4xf32>
    shoal.yield %next, %w, %k : tensor<i32>, tensor<4xf32>, tensor<3x4xf32>
  }
  return %r#2 : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func @down
// CHECK: %[[ROWS:.*]] = tensor.empty() : tensor<3x4xf32>
// CHECK: scf.while {{.*}}%{{.*}} = %[[ROWS]])
func.func @down(%x: tensor<4xf32>) -> tensor<3x4xf32> {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %last = arith.constant dense<2> : tensor<i32>
  %three = arith.constant dense<3> : tensor<i32>
  %rows = arith.constant dense<0.0> : tensor<3x4xf32>
  %r:3 = shoal.while (%i = %zero, %v = %x, %kept = %rows) : tensor<i32>, tensor<4xf32>, tensor<3x4xf32> cond {
    %more = arith.cmpi slt, %i, %three : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %next = arith.addi %i, %one : tensor<i32>
    %down = arith.subi %last, %i : tensor<i32>
    %w = arith.addf %v, %v : tensor<4xf32>
    %row = shoal.reshape %w : tensor<4xf32> -> tensor<1x4xf32>
    %k = shoal.dynamic_update_slice %kept, %row[%down, %zero] : (tensor<3x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<3x4xf32>
    shoal.yield %next, %w, %k : tensor<i32>, tensor<4xf32>, tensor<3x4xf32>
  }
  return %r#2 : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func @one_row_is_left
// CHECK: %[[ROWS:.*]] = arith.constant dense<0.000000e+00> : tensor<4x4xf32>
// CHECK: scf.while {{.*}}%{{.*}} = %[[ROWS]])
func.func @one_row_is_left(%x: tensor<4xf32>) -> tensor<4x4xf32> {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %last = arith.constant dense<2> : tensor<i32>
  %three = arith.constant dense<3> : tensor<i32>
  %rows = arith.constant dense<0.0> : tensor<4x4xf32>
  %r:3 = shoal.while (%i = %zero, %v = %x, %kept = %rows) : tensor<i32>, tensor<4xf32>, tensor<4x4xf32> cond {
    %more = arith.cmpi slt, %i, %three : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %next = arith.addi %i, %one : tensor<i32>
    %down = arith.subi %last, %i : tensor<i32>
    %w = arith.addf %v, %v : tensor<4xf32>
    %row = shoal.reshape %w : tensor<4xf32> -> tensor<1x4xf32>
    %k = shoal.dynamic_update_slice %kept, %row[%i, %zero] : (tensor<4x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<4x4xf32>
    shoal.yield %next, %w, %k : tensor<i32>, tensor<4xf32>, tensor<4x4xf32>
  }
  return %r#2 : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: func.func @clamped_to_the_last_rows
// CHECK: %[[ROWS:.*]] = arith.constant dense<0.000000e+00> : tensor<3x4xf32>
// CHECK: scf.while {{.*}}%{{.*}} = %[[ROWS]])
func.func @clamped_to_the_last_rows(%x: tensor<4xf32>) -> tensor<3x4xf32> {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %last = arith.constant dense<2> : tensor<i32>
  %three = arith.constant dense<3> : tensor<i32>
  %rows = arith.constant dense<0.0> : tensor<3x4xf32>
  %r:3 = shoal.while (%i = %zero, %v = %x, %kept = %rows) : tensor<i32>, tensor<4xf32>, tensor<3x4xf32> cond {
    %more = arith.cmpi slt, %i, %three : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %next = arith.addi %i, %one : tensor<i32>
    %down = arith.subi %last, %i : tensor<i32>
    %w = arith.addf %v, %v : tensor<4xf32>
    %row = shoal.reshape %w : tensor<4xf32> -> tensor<1x4xf32>
    %k = shoal.dynamic_update_slice %kept, %row[%next, %zero] : (tensor<3x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<3x4xf32>
    shoal.yield %next, %w, %k : tensor<i32>, tensor<4xf32>, tensor<3x4xf32>
  }
  return %r#2 : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func @read_in_a_trip
// CHECK: %[[ROWS:.*]] = arith.constant dense<0.000000e+00> : tensor<3x4xf32>
// CHECK: scf.while {{.*}}%{{.*}} = %[[ROWS]])
func.func @read_in_a_trip(%x: tensor<4xf32>) -> tensor<3x4xf32> {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %last = arith.constant dense<2> : tensor<i32>
  %three = arith.constant dense<3> : tensor<i32>
  %rows = arith.constant dense<0.0> : tensor<3x4xf32>
  %r:3 = shoal.while (%i = %zero, %v = %x, %kept = %rows) : tensor<i32>, tensor<4xf32>, tensor<3x4xf32> cond {
    %more = arith.cmpi slt, %i, %three : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %next = arith.addi %i, %one : tensor<i32>
    %down = arith.subi %last, %i : tensor<i32>
    %w = arith.addf %v, %v : tensor<4xf32>
    %row = shoal.reshape %w : tensor<4xf32> -> tensor<1x4xf32>
    %k = shoal.dynamic_update_slice %kept, %row[%down, %zero] : (tensor<3x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<3x4xf32>
    %first = shoal.dynamic_slice %k[%zero, %zero] sizes = [1, 4] : (tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %u = shoal.reshape %first : tensor<1x4xf32> -> tensor<4xf32>
    shoal.yield %next, %u, %k : tensor<i32>, tensor<4xf32>, tensor<3x4xf32>
  }
  return %r#2 : tensor<3x4xf32>
}
