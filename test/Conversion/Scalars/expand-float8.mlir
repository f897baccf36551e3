// RUN: shoal-opt %s --shoal-expand-narrow-floats | FileCheck %s

// Conversions of f8 become integer operations, with or without a device that
// converts bf16; test/Execution/float8.mlir and test_float8.py have the values.
// RUN: shoal-opt %s --shoal-expand-narrow-floats=keep-conversions | FileCheck %s

// CHECK-LABEL: func.func @round
// CHECK-SAME: %[[X:.*]]: f32
// CHECK-NOT: arith.truncf
// CHECK: %[[BITS:.*]] = arith.bitcast %[[X]] : f32 to i32
// CHECK-NOT: arith.truncf
// CHECK: %[[CODE:.*]] = arith.trunci %{{.*}} : i32 to i8
// CHECK-NEXT: arith.bitcast %[[CODE]] : i8 to f8E4M3FN
func.func @round(%x: f32) -> f8E4M3FN {
  %y = arith.truncf %x : f32 to f8E4M3FN
  return %y : f8E4M3FN
}

// Once, over an f32 that is rounded to odd.
// CHECK-LABEL: func.func @round_f64
// CHECK: arith.truncf %{{.*}} : f64 to f32
// CHECK-NOT: arith.truncf
// CHECK: arith.bitcast %{{.*}} : i8 to f8E5M2
func.func @round_f64(%x: f64) -> f8E5M2 {
  %y = arith.truncf %x : f64 to f8E5M2
  return %y : f8E5M2
}

// CHECK-LABEL: func.func @extend
// CHECK-NOT: arith.extf
// CHECK: arith.bitcast %{{.*}} : f8E5M2 to i8
// CHECK-NOT: arith.extf
// CHECK: return %{{.*}} : f32
func.func @extend(%x: f8E5M2) -> f32 {
  %y = arith.extf %x : f8E5M2 to f32
  return %y : f32
}
