// RUN: shoal-opt %s --shoal-approximate-math | FileCheck %s --check-prefix=MATH
// RUN: shoal-opt %s --arith-emulate-unsupported-floats="source-types=bf16,f16 target-type=f32" \
// RUN:   --shoal-expand-narrow-floats | FileCheck %s --check-prefix=NARROW

// MATH-LABEL: @f32_is_approximated_f64_is_not
// MATH-NOT: math.exp %arg0
// MATH: math.fma
// MATH: math.exp %arg1 : f64
// MATH: math.sqrt %arg0 : f32
func.func @f32_is_approximated_f64_is_not(%x: f32, %y: f64) -> (f32, f64, f32) {
  %0 = math.exp %x : f32
  %1 = math.exp %y : f64
  %2 = math.sqrt %x : f32
  return %0, %1, %2 : f32, f64, f32
}

// The sum is rounded before it is extended again.
// NARROW-LABEL: @every_operation_rounds
// NARROW: arith.addf
// NARROW: arith.truncf %{{.*}} : f32 to f16
// NARROW: arith.extf %{{.*}} : f16 to f32
// NARROW: arith.mulf
func.func @every_operation_rounds(%x: f16, %y: f16) -> f16 {
  %0 = arith.addf %x, %y : f16
  %1 = arith.mulf %0, %y : f16
  return %1 : f16
}

// NARROW-LABEL: @conversions_of_bf16_are_integer_operations
// NARROW-NOT: arith.extf %{{.*}} : bf16
// NARROW-NOT: arith.truncf %{{.*}} to bf16
// NARROW: arith.shli
// NARROW: return
func.func @conversions_of_bf16_are_integer_operations(%x: bf16, %y: f64) -> (bf16, bf16, f64) {
  %0 = arith.addf %x, %x : bf16
  %1 = arith.truncf %y : f64 to bf16
  %2 = arith.extf %x : bf16 to f64
  return %0, %1, %2 : bf16, bf16, f64
}
