// RUN: shoal-opt %s --shoal-reuse-buffers --split-input-file | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>

shoal.mesh @mesh = <["x" = 2]>

// %0 is read for the last time where %1 is made, and that where the result is.
// CHECK-LABEL: @a_chain_is_one_buffer
// CHECK-SAME: (%[[X:.+]]: memref<4x4xf32>, %[[Y:.+]]: memref<4x4xf32> {shoal.result})
// CHECK-NOT: memref.alloc
// CHECK: memref.copy %[[X]], %[[Y]]
// CHECK: rt.all_reduce sum @mesh {"x"} ins(%[[Y]] : memref<4x4xf32>) outs(%[[Y]] : memref<4x4xf32>)
// CHECK: linalg.generic {indexing_maps = [#{{[a-z0-9]+}}], iterator_types = ["parallel", "parallel"]} outs(%[[Y]] : memref<4x4xf32>) {
// CHECK-NEXT: ^bb0(%[[OUT:.+]]: f32):
// CHECK-NEXT: arith.addf %[[OUT]], %[[OUT]]
func.func @a_chain_is_one_buffer(%x: memref<4x4xf32>, %y: memref<4x4xf32> {shoal.result}) {
  %0 = memref.alloc() : memref<4x4xf32>
  memref.copy %x, %0 : memref<4x4xf32> to memref<4x4xf32>
  %1 = memref.alloc() : memref<4x4xf32>
  rt.all_reduce sum @mesh {"x"} ins(%0 : memref<4x4xf32>) outs(%1 : memref<4x4xf32>) {collective = 0 : i64}
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%1 : memref<4x4xf32>) outs(%y : memref<4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.addf %in, %in : f32
    linalg.yield %2 : f32
  }
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>

// Behind a reshape it is the same memory; an op of two results reuses two buffers.
// CHECK-LABEL: @reshaped_buffers
// CHECK-SAME: (%[[X:.+]]: memref<4x4xf32>, %[[Y:.+]]: memref<4x4xf32> {shoal.result}, %[[Z:.+]]: memref<4x4xf32> {shoal.result})
// CHECK-NOT: memref.alloc
// CHECK: %[[FLAT:.+]] = memref.reinterpret_cast %[[Y]] to offset: [0], sizes: [16], strides: [1]
// CHECK-NOT: memref.alloc
// CHECK: linalg.generic {{.+}} outs(%{{.+}}, %[[Z]] : memref<4x4xf32>, memref<4x4xf32>)
func.func @reshaped_buffers(%x: memref<4x4xf32>, %y: memref<4x4xf32> {shoal.result}, %z: memref<4x4xf32> {shoal.result}) {
  %0 = memref.alloc() : memref<16xf32>
  %flat = memref.collapse_shape %x [[0, 1]] : memref<4x4xf32> into memref<16xf32>
  memref.copy %flat, %0 : memref<16xf32> to memref<16xf32>
  %square = memref.expand_shape %0 [[0, 1]] output_shape [4, 4] : memref<16xf32> into memref<4x4xf32>
  %1 = memref.alloc() : memref<4x4xf32>
  memref.copy %x, %1 : memref<4x4xf32> to memref<4x4xf32>
  linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%square, %1 : memref<4x4xf32>, memref<4x4xf32>) outs(%y, %z : memref<4x4xf32>, memref<4x4xf32>) {
  ^bb0(%a: f32, %b: f32, %out0: f32, %out1: f32):
    %2 = arith.addf %a, %b : f32
    %3 = arith.mulf %a, %b : f32
    linalg.yield %2, %3 : f32, f32
  }
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>

// What is read in another order, or read again, or an input, is not written over.
// CHECK-LABEL: @what_stays
// CHECK-COUNT-2: memref.alloc
// CHECK-NOT: memref.alloc
// CHECK: linalg.generic {{.+}} ins(%[[A:.+]] : memref<4x4xf32>) outs(%[[B:.+]] : memref<4x4xf32>)
// CHECK: linalg.generic {{.+}} ins(%[[B]] : memref<4x4xf32>) outs(%[[Y:.+]] : memref<4x4xf32>)
// CHECK: memref.copy %[[B]], %{{.+}}
func.func @what_stays(%x: memref<4x4xf32>, %y: memref<4x4xf32> {shoal.result}, %z: memref<4x4xf32>) {
  %0 = memref.alloc() : memref<4x4xf32>
  memref.copy %x, %0 : memref<4x4xf32> to memref<4x4xf32>
  %1 = memref.alloc() : memref<4x4xf32>
  linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0 : memref<4x4xf32>) outs(%1 : memref<4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%1 : memref<4x4xf32>) outs(%y : memref<4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.negf %in : f32
    linalg.yield %2 : f32
  }
  memref.copy %1, %z : memref<4x4xf32> to memref<4x4xf32>
  return
}

// -----

#id = affine_map<(d0) -> (d0)>

// A result that is used before is not free yet.
// CHECK-LABEL: @a_result_in_use
// CHECK: memref.alloc
// CHECK: linalg.generic {{.+}} ins(%{{.+}} : memref<4xf32>) outs(%{{.+}} : memref<4xf32>)
func.func @a_result_in_use(%x: memref<4xf32>, %y: memref<4xf32> {shoal.result}) {
  %0 = memref.alloc() : memref<4xf32>
  memref.copy %x, %y : memref<4xf32> to memref<4xf32>
  memref.copy %y, %0 : memref<4xf32> to memref<4xf32>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%0 : memref<4xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.negf %in : f32
    linalg.yield %1 : f32
  }
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>

// Beside a sum, too, each iteration reads the element that it writes.
// CHECK-LABEL: @an_op_with_a_sum
// CHECK-NOT: memref.alloc
// CHECK: linalg.generic {indexing_maps = [#{{[a-z0-9]+}}, #{{[a-z0-9]+}}], iterator_types = ["parallel", "reduction"]} outs(%arg1, %arg2 : memref<4x4xf32>, memref<4xf32>)
func.func @an_op_with_a_sum(%x: memref<4x4xf32>, %y: memref<4x4xf32> {shoal.result}, %s: memref<4xf32>) {
  %0 = memref.alloc() : memref<4x4xf32>
  memref.copy %x, %0 : memref<4x4xf32> to memref<4x4xf32>
  linalg.generic {indexing_maps = [#id, #id, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%0 : memref<4x4xf32>) outs(%y, %s : memref<4x4xf32>, memref<4xf32>) {
  ^bb0(%in: f32, %out: f32, %sum: f32):
    %1 = arith.addf %in, %in : f32
    %2 = arith.addf %sum, %1 : f32
    linalg.yield %1, %2 : f32, f32
  }
  return
}

// -----

// Not every call has a destination.
// CHECK-LABEL: @waits_write_nothing
// CHECK: rt.wait 0
func.func @waits_write_nothing() {
  rt.wait 0
  return
}
