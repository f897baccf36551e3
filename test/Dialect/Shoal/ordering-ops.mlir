// RUN: shoal-opt %s | shoal-opt | FileCheck %s
// RUN: shoal-opt %s --mlir-print-op-generic | shoal-opt | FileCheck %s

// sort, argmax, argmin, reduce_region, clamp and bitcast_convert survive a
// round trip, also by their generic form.

// CHECK-LABEL: func @sort(
func.func @sort(%x: tensor<8x16xf32>, %i: tensor<8x16xi32>) {
  // CHECK: shoal.sort %{{.*}} dim = 1 : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %0 = shoal.sort %x dim = 1 : (tensor<8x16xf32>) -> tensor<8x16xf32>
  // CHECK: shoal.sort %{{.*}}, %{{.*}} dim = 0 {descending, num_keys = 2 : i64} : (tensor<8x16xf32>, tensor<8x16xi32>) -> (tensor<8x16xf32>, tensor<8x16xi32>)
  %1:2 = shoal.sort %x, %i dim = 0 {descending, num_keys = 2}
    : (tensor<8x16xf32>, tensor<8x16xi32>) -> (tensor<8x16xf32>, tensor<8x16xi32>)
  return
}

// CHECK-LABEL: func @places(
func.func @places(%x: tensor<8x16xf32>, %b: tensor<3xi1>) {
  // CHECK: shoal.argmax %{{.*}} dim = 1 : tensor<8x16xf32> -> tensor<8xi32>
  %0 = shoal.argmax %x dim = 1 : tensor<8x16xf32> -> tensor<8xi32>
  // CHECK: shoal.argmin %{{.*}} dim = 0 : tensor<3xi1> -> tensor<i64>
  %1 = shoal.argmin %b dim = 0 : tensor<3xi1> -> tensor<i64>
  return
}

// CHECK-LABEL: func @reduce_region(
func.func @reduce_region(%x: tensor<8x16xi32>, %zero: tensor<i32>) -> tensor<8xi32> {
  // CHECK: shoal.reduce_region(%{{.*}}) inits(%{{.*}}) dims = [1] {
  // CHECK-NEXT: ^bb0(%[[A:.*]]: i32, %[[B:.*]]: i32):
  // CHECK-NEXT: %[[M:.*]] = arith.maxui %[[A]], %[[B]] : i32
  // CHECK-NEXT: shoal.yield %[[M]] : i32
  // CHECK-NEXT: } : (tensor<8x16xi32>, tensor<i32>) -> tensor<8xi32>
  %0 = shoal.reduce_region(%x) inits(%zero) dims = [1] {
  ^combine(%a: i32, %b: i32):
    %m = arith.maxui %a, %b : i32
    shoal.yield %m : i32
  } : (tensor<8x16xi32>, tensor<i32>) -> tensor<8xi32>
  return %0 : tensor<8xi32>
}

// CHECK-LABEL: func @elements(
func.func @elements(%x: tensor<8x2xf32>, %low: tensor<f32>) {
  // CHECK: shoal.clamp %{{.*}}, %{{.*}}, %{{.*}} : tensor<f32>, tensor<8x2xf32>, tensor<8x2xf32>
  %0 = shoal.clamp %low, %x, %x : tensor<f32>, tensor<8x2xf32>, tensor<8x2xf32>
  // CHECK: shoal.bitcast_convert %{{.*}} : tensor<8x2xf32> -> tensor<8xi64>
  %1 = shoal.bitcast_convert %x : tensor<8x2xf32> -> tensor<8xi64>
  // CHECK: shoal.bitcast_convert %{{.*}} : tensor<f32> -> tensor<2xbf16>
  %2 = shoal.bitcast_convert %low : tensor<f32> -> tensor<2xbf16>
  return
}
