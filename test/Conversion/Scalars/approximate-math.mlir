// RUN: shoal-opt %s --shoal-approximate-math | FileCheck %s

// The polynomial of erf gives 0.0 for -0.0: the sign is the operand's.
// CHECK-LABEL: func.func @erf_of_negative_zero(
// CHECK-SAME: %[[X:.*]]: f32)
// CHECK-NOT: math.erf
// CHECK: %[[SIGNED:.*]] = math.copysign %{{.*}}, %[[X]] : f32
// CHECK: return %[[SIGNED]]
func.func @erf_of_negative_zero(%x: f32) -> f32 {
  %y = math.erf %x : f32
  return %y : f32
}

// CHECK-LABEL: func.func @erfc(
// CHECK-NOT: math.erfc
func.func @erfc(%x: f32) -> f32 {
  %y = math.erfc %x : f32
  return %y : f32
}

// CHECK-LABEL: func.func @erf_of_f64(
// CHECK-NEXT: math.erf
// CHECK-NEXT: return
func.func @erf_of_f64(%x: f64) -> f64 {
  %y = math.erf %x : f64
  return %y : f64
}
