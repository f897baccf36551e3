// RUN: shoal-opt %s --pass-pipeline='builtin.module(func.func(shoal-jam-reductions))' | FileCheck %s

// Eight rows at a time, the last five one by one, each in its turn.

// CHECK-LABEL: func.func @columns
// CHECK: scf.for %[[ROW:.*]] = %c0 to %c1024 step %c8
// CHECK: scf.for
// CHECK-COUNT-8: memref.store
// CHECK: scf.for %{{.*}} = %c1024 to %c1029 step
// CHECK: scf.for
// CHECK: memref.store
// CHECK-NOT: memref.store
// CHECK: return
func.func @columns(%x: memref<1029x512xf32>, %y: memref<512xf32>) {
  linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (c)>],
                  iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<1029x512xf32>) outs(%y : memref<512xf32>) {
  ^bb0(%in: f32, %out: f32):
    %sum = arith.addf %out, %in : f32
    linalg.yield %sum : f32
  }
  return
}

// Two operands with rows, in kept loops: four at a time.

// CHECK-LABEL: func.func @two_streams
// CHECK: scf.for %{{.*}} = %c0 to %c3
// CHECK: scf.for %{{.*}} = %{{.*}} to %c16 step %c4
// CHECK-COUNT-4: arith.maximumf
// CHECK-NOT: arith.maximumf
// CHECK: return
func.func @two_streams(%x: memref<3x16x512xf32>, %w: memref<16x512xf32>, %y: memref<3x512xf32>) {
  linalg.generic {indexing_maps = [affine_map<(g, r, c) -> (g, r, c)>, affine_map<(g, r, c) -> (r, c)>,
                                   affine_map<(g, r, c) -> (g, c)>],
                  iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%x, %w : memref<3x16x512xf32>, memref<16x512xf32>) outs(%y : memref<3x512xf32>) {
  ^bb0(%in: f32, %weight: f32, %out: f32):
    %product = arith.mulf %in, %weight : f32
    %most = arith.maximumf %out, %product : f32
    linalg.yield %most : f32
  }
  return
}

// What stores its rows, and sums along rows, stay.

// CHECK-LABEL: func.func @stored
// CHECK: linalg.generic
func.func @stored(%x: memref<16x512xf32>, %y: memref<512xf32>) {
  linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (c)>],
                  iterator_types = ["reduction", "parallel"]}
      outs(%x, %y : memref<16x512xf32>, memref<512xf32>) {
  ^bb0(%old: f32, %out: f32):
    %root = math.sqrt %old : f32
    %sum = arith.addf %out, %root : f32
    linalg.yield %root, %sum : f32, f32
  }
  return
}

// CHECK-LABEL: func.func @rows
// CHECK: linalg.generic
func.func @rows(%x: memref<16x512xf32>, %y: memref<16xf32>) {
  linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>],
                  iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<16x512xf32>) outs(%y : memref<16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %sum = arith.addf %out, %in : f32
    linalg.yield %sum : f32
  }
  return
}
