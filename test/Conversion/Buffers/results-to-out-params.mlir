// RUN: shoal-opt %s --pass-pipeline='builtin.module(func.func(shoal-results-to-out-params))' | FileCheck %s

// CHECK-LABEL: @result_is_made_in_place
// CHECK-SAME: (%[[X:.*]]: memref<4xf32>, %[[OUT:.*]]: memref<4xf32> {shoal.result})
// CHECK-NEXT: rt.cumulative {{.*}} ins(%[[X]] : memref<4xf32>) outs(%[[OUT]] : memref<4xf32>)
// CHECK-NEXT: return
func.func @result_is_made_in_place(%x: memref<4xf32>) -> memref<4xf32> {
  %0 = memref.alloc() : memref<4xf32>
  rt.cumulative sum dim 0 ins(%x : memref<4xf32>) outs(%0 : memref<4xf32>)
  return %0 : memref<4xf32>
}

// CHECK-LABEL: @result_in_another_shape_is_made_in_place
// CHECK-SAME: %[[OUT:[a-z0-9]+]]: memref<2x2xf32> {shoal.result})
// CHECK-NEXT: %[[V:.*]] = memref.reinterpret_cast %[[OUT]] to offset: [0], sizes: [4], strides: [1]
// CHECK-NEXT: rt.cumulative {{.*}} outs(%[[V]] : memref<4xf32>)
// CHECK-NOT: memref.copy
func.func @result_in_another_shape_is_made_in_place(%x: memref<4xf32>) -> memref<2x2xf32> {
  %0 = memref.alloc() : memref<4xf32>
  rt.cumulative sum dim 0 ins(%x : memref<4xf32>) outs(%0 : memref<4xf32>)
  %1 = memref.expand_shape %0 [[0, 1]] output_shape [2, 2] : memref<4xf32> into memref<2x2xf32>
  return %1 : memref<2x2xf32>
}

// CHECK-LABEL: @inputs_and_second_results_are_copied
// CHECK-SAME: (%[[X:.*]]: memref<4xf32>, %[[A:.*]]: memref<4xf32> {shoal.result}, %[[B:.*]]: memref<4xf32> {shoal.result}, %[[C:.*]]: memref<4xf32> {shoal.result})
// CHECK: rt.cumulative {{.*}} outs(%[[A]] : memref<4xf32>)
// CHECK-NEXT: memref.copy %[[A]], %[[B]]
// CHECK-NEXT: memref.copy %[[X]], %[[C]]
func.func @inputs_and_second_results_are_copied(%x: memref<4xf32>) -> (memref<4xf32>, memref<4xf32>, memref<4xf32>) {
  %0 = memref.alloc() : memref<4xf32>
  rt.cumulative sum dim 0 ins(%x : memref<4xf32>) outs(%0 : memref<4xf32>)
  return %0, %0, %x : memref<4xf32>, memref<4xf32>, memref<4xf32>
}
