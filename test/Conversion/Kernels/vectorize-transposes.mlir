// RUN: shoal-opt %s --pass-pipeline='builtin.module(func.func(shoal-vectorize-transposes))' | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#t = affine_map<(d0, d1) -> (d1, d0)>
#batch = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#rows = affine_map<(d0, d1, d2) -> (d2, d0, d1)>

// A copy goes from register to result.
// CHECK-LABEL: @copy
// CHECK-NOT: memref.alloca
// CHECK-COUNT-16: vector.load %arg0
// CHECK: vector.shuffle
// CHECK-NOT: linalg.generic
// CHECK-COUNT-16: vector.store {{.*}}, %arg1
func.func @copy(%x: memref<16x16xf32>, %y: memref<16x16xf32>) {
  linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<16x16xf32>) outs(%y : memref<16x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  return
}

// What computes reads a tile in which both operands are contiguous.
// CHECK-LABEL: @sum
// CHECK: %[[TILE:.*]] = memref.alloca() : memref<16x16xbf16>
// CHECK-COUNT-16: vector.load %arg0
// CHECK-COUNT-16: vector.store {{.*}}, %[[TILE]]
// CHECK: linalg.generic {indexing_maps = [#[[ID:map[0-9]*]], #[[ID]], #[[ID]]]
// CHECK-SAME: ins(%[[TILE]], %arg1 : memref<16x16xbf16>, memref<16x16xbf16>)
func.func @sum(%x: memref<16x16xbf16>, %z: memref<16x16xbf16>, %y: memref<16x16xbf16>) {
  linalg.generic {indexing_maps = [#t, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %z : memref<16x16xbf16>, memref<16x16xbf16>) outs(%y : memref<16x16xbf16>) {
  ^bb0(%in: bf16, %other: bf16, %out: bf16):
    %sum = arith.addf %in, %other : bf16
    linalg.yield %sum : bf16
  }
  return
}

// Lines lie in the first dimension here, one after the other by the third loop.
// CHECK-LABEL: @other_loops_make_one_step
// CHECK-COUNT-16: vector.load %arg0[%{{.*}}, %c0{{.*}}, %c0{{.*}}]
// CHECK-NOT: linalg.generic
func.func @other_loops_make_one_step(%x: memref<16x1x16xi32, strided<[512, 16, 1], offset: ?>>, %y: memref<1x16x16xi32>) {
  linalg.generic {indexing_maps = [#rows, #batch], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : memref<16x1x16xi32, strided<[512, 16, 1], offset: ?>>) outs(%y : memref<1x16x16xi32>) {
  ^bb0(%in: i32, %out: i32):
    linalg.yield %in : i32
  }
  return
}

// Vectors of i1 are bits; strides in the last dimension are no lines.
// CHECK-LABEL: @what_is_no_square_stays
// CHECK-NOT: vector.load
// CHECK-COUNT-3: linalg.generic
func.func @what_is_no_square_stays(%b: memref<16x16xi1>, %c: memref<16x16xi1>, %x: memref<16x16xf32, strided<[64, 2]>>, %y: memref<16x16xf32>, %p: memref<3x16xf32>, %q: memref<16x3xf32>) {
  linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]} ins(%b : memref<16x16xi1>) outs(%c : memref<16x16xi1>) {
  ^bb0(%in: i1, %out: i1):
    linalg.yield %in : i1
  }
  linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<16x16xf32, strided<[64, 2]>>) outs(%y : memref<16x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]} ins(%p : memref<3x16xf32>) outs(%q : memref<16x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  return
}
