// RUN: shoal-opt %s --shoal-expand-math | FileCheck %s

// CHECK-LABEL: @extrema_stay
// CHECK: arith.maximumf
// CHECK: arith.minimumf {{.*}} : f32
// CHECK: arith.minimumf {{.*}} : f64
func.func @extrema_stay(%x: f32, %low: f32, %high: f32, %y: f64, %z: f64) -> (f32, f64) {
  %0 = math.clampf %x to [%low, %high] : f32
  %1 = arith.minimumf %y, %z : f64
  return %0, %1 : f32, f64
}

// CHECK-LABEL: @quotients_round_towards_zero
// CHECK-NOT: arith.ceildivsi
// CHECK-NOT: arith.floordivsi
// CHECK: arith.divsi
func.func @quotients_round_towards_zero(%x: i32, %y: i32) -> (i32, i32) {
  %0 = arith.ceildivsi %x, %y : i32
  %1 = arith.floordivsi %x, %y : i32
  return %0, %1 : i32, i32
}
