// RUN: shoal-opt %s --pass-pipeline='builtin.module(func.func(shoal-tile-transposes))' | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#t = affine_map<(d0, d1) -> (d1, d0)>
#rows = affine_map<(d0, d1) -> (d0)>

// 67 and 45 rows are no multiples of 16: what is left is not tiled.
// CHECK-LABEL: @transpose_runs_in_tiles
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c64
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c32
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : memref<16x16xf32
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : memref<13x64xf32
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : memref<45x3xf32
func.func @transpose_runs_in_tiles(%x: memref<45x67xf32>, %y: memref<67x45xf32>) {
  linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<45x67xf32>) outs(%y : memref<67x45xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  return
}

// CHECK-LABEL: @broadcast_along_rows_does_not
// CHECK-NOT: scf.for
// CHECK: linalg.generic
func.func @broadcast_along_rows_does_not(%x: memref<67xf32>, %y: memref<67x45xf32>) {
  linalg.generic {indexing_maps = [#rows, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<67xf32>) outs(%y : memref<67x45xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  return
}

// A tile of a transposed operand with windows beside it.
// CHECK-LABEL: @transposed_patches
// CHECK: memref.subview %{{.*}} [16, 16] [1, 1] : memref<32x48xf32>
// CHECK: memref.subview %{{.*}} [31] [1] : memref<63xf32>
func.func @transposed_patches(%x: memref<32x48xf32>, %w: memref<63xf32>, %y: memref<48x32xf32>) {
  linalg.generic {indexing_maps = [#t, affine_map<(d0, d1) -> (d1 * 2)>, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %w : memref<32x48xf32>, memref<63xf32>) outs(%y : memref<48x32xf32>) {
  ^bb0(%in: f32, %other: f32, %out: f32):
    %sum = arith.addf %in, %other : f32
    linalg.yield %sum : f32
  }
  return
}
