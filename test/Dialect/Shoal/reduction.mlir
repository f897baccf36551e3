// RUN: shoal-opt %s | shoal-opt | FileCheck %s
// RUN: shoal-opt %s --mlir-print-op-generic | shoal-opt | FileCheck %s

// Every op in each of its forms survives a round trip, also by its generic form.

// CHECK-LABEL: func @reductions(
func.func @reductions(%x: tensor<8x16xf32>, %mask: tensor<8x16xi1>) -> tensor<8x16xf32> {
  // CHECK: shoal.reduce sum %{{.*}} dims = [0, 1] : tensor<8x16xf32> -> tensor<f32>
  %0 = shoal.reduce sum %x dims = [0, 1] : tensor<8x16xf32> -> tensor<f32>
  // CHECK: shoal.reduce prod %{{.*}} dims = [] : tensor<8x16xf32> -> tensor<8x16xf32>
  %1 = shoal.reduce prod %x dims = [] : tensor<8x16xf32> -> tensor<8x16xf32>
  // CHECK: shoal.reduce min
  %2 = shoal.reduce min %x dims = [1] : tensor<8x16xf32> -> tensor<8xf32>
  // CHECK: shoal.reduce max
  %3 = shoal.reduce max %x dims = [1] : tensor<8x16xf32> -> tensor<8xf32>
  // CHECK: shoal.reduce and %{{.*}} dims = [0] : tensor<8x16xi1> -> tensor<16xi1>
  %4 = shoal.reduce and %mask dims = [0] : tensor<8x16xi1> -> tensor<16xi1>
  // CHECK: shoal.reduce or
  %5 = shoal.reduce or %mask dims = [0] : tensor<8x16xi1> -> tensor<16xi1>
  // CHECK: shoal.cumulative sum %{{.*}} dim = 1 : tensor<8x16xf32>
  %6 = shoal.cumulative sum %x dim = 1 : tensor<8x16xf32>
  // CHECK: shoal.cumulative max %{{.*}} dim = 0 {exclusive, reverse} : tensor<8x16xf32>
  %7 = shoal.cumulative max %6 dim = 0 {exclusive, reverse} : tensor<8x16xf32>
  return %7 : tensor<8x16xf32>
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
