// RUN: shoal-opt %s --shoal-outline-kernels | FileCheck %s
// RUN: shoal-opt %s --shoal-outline-kernels="threads=true" | FileCheck %s --check-prefixes=CHECK,THREADS

#id = affine_map<(d0) -> (d0)>

// CHECK-LABEL: @distinct_buffers_are_noalias
// CHECK: call @distinct_buffers_are_noalias_kernel_0(%arg0, %arg1)
// CHECK-NEXT: return
func.func @distinct_buffers_are_noalias(%x: memref<4xf32>, %y: memref<4xf32>) {
  %two = arith.constant 2.0 : f32
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.mulf %in, %two : f32
    linalg.yield %0 : f32
  }
  return
}

// A buffer that is also written in another shape is no one's own.
// CHECK-LABEL: @views_of_one_buffer_are_not
// CHECK: memref.expand_shape
// CHECK-NEXT: call @views_of_one_buffer_are_not_kernel_0
func.func @views_of_one_buffer_are_not(%x: memref<4xf32>, %s: f32) {
  %v = memref.subview %x[0] [2] [1] : memref<4xf32> to memref<2xf32, strided<[1]>>
  %w = memref.subview %x[2] [2] [1] : memref<4xf32> to memref<2xf32, strided<[1], offset: 2>>
  %e = memref.expand_shape %x [[0, 1]] output_shape [2, 2] : memref<4xf32> into memref<2x2xf32>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%v : memref<2xf32, strided<[1]>>) outs(%w : memref<2xf32, strided<[1], offset: 2>>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %s : f32
    linalg.yield %0 : f32
  }
  return
}

// THREADS-LABEL: @long_copies_are_for_threads
// THREADS-NOT: memref.copy
// THREADS: call @long_copies_are_for_threads_kernel_0
func.func @long_copies_are_for_threads(%x: memref<512x512xf32>, %y: memref<512x512xf32>) {
  memref.copy %x, %y : memref<512x512xf32> to memref<512x512xf32>
  return
}

// CHECK-LABEL: @strided_copies_are_kernels
// CHECK: memref.copy
// CHECK: call @strided_copies_are_kernels_kernel_0
// CHECK-NOT: memref.copy
func.func @strided_copies_are_kernels(%x: memref<4xf32>, %y: memref<4xf32>, %z: memref<2xf32>) {
  memref.copy %x, %y : memref<4xf32> to memref<4xf32>
  %v = memref.subview %x[0] [2] [2] : memref<4xf32> to memref<2xf32, strided<[2]>>
  memref.copy %v, %z : memref<2xf32, strided<[2]>> to memref<2xf32>
  return
}

// CHECK: func.func private @distinct_buffers_are_noalias_kernel_0
// CHECK-SAME: memref<4xf32> {llvm.noalias, llvm.readonly}
// CHECK-SAME: memref<4xf32> {llvm.noalias})
// CHECK: arith.constant 2.0
// CHECK: linalg.generic
// CHECK: func.func private @views_of_one_buffer_are_not_kernel_0
// CHECK-NOT: llvm.noalias
// CHECK-SAME: f32)
