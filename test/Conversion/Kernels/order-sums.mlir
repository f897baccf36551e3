// RUN: shoal-opt %s --pass-pipeline='builtin.module(func.func(shoal-order-sums))' | FileCheck %s

// Four vectors of lanes, and the last 13 terms under a mask.

// CHECK-LABEL: func.func @rows
// CHECK: %[[LANES:.*]] = memref.alloca() {{.*}} : memref<64xf32>
// CHECK: scf.for
// CHECK: vector.store %{{.*}}, %[[LANES]]
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %c1024 step %c64
// CHECK: scf.for %[[LANE:.*]] = %{{.*}} to %{{.*}} step %c16
// CHECK: %[[J:.*]] = arith.addi %[[I]], %[[LANE]]
// CHECK: vector.load %{{.*}}[%{{.*}}, %[[J]]] : memref<7x1037xf32>, vector<16xf32>
// CHECK: arith.addf %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK: vector.maskedload
// CHECK: arith.select
// The halves of the lanes.
// CHECK: arith.addf %{{.*}}, %{{.*}} : vector<32xf32>
// CHECK: arith.addf %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK: arith.addf %{{.*}}, %{{.*}} : vector<8xf32>
// CHECK: arith.addf %{{.*}}, %{{.*}} : vector<4xf32>
// CHECK: arith.addf %{{.*}}, %{{.*}} : vector<2xf32>
// CHECK: arith.addf %{{.*}}, %{{.*}} : vector<1xf32>
// CHECK: arith.addf %{{.*}}, %{{.*}} : f32
func.func @rows(%x: memref<7x1037xf32>, %y: memref<7xf32>) {
  linalg.generic {indexing_maps = [affine_map<(r, i) -> (r, i)>, affine_map<(r, i) -> (r)>],
                  iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<7x1037xf32>) outs(%y : memref<7xf32>) {
  ^bb0(%in: f32, %out: f32):
    %sum = arith.addf %out, %in fastmath<reassoc> : f32
    linalg.yield %sum : f32
  }
  return
}

// What is fused into the sum changes nothing of the order, nor does what is
// stored beside it, here where it was read.

// CHECK-LABEL: func.func @fused
// CHECK: memref.alloca() {{.*}} : memref<64xf32>
// CHECK: vector.load %{{.*}} : memref<7x1037xf32>, vector<16xf32>
// CHECK: math.sqrt %{{.*}} : vector<16xf32>
// CHECK: vector.store %{{.*}} : memref<7x1037xf32>, vector<16xf32>
func.func @fused(%x: memref<7x1037xf32>, %y: memref<7xf32>) {
  linalg.generic {indexing_maps = [affine_map<(r, i) -> (r, i)>, affine_map<(r, i) -> (r)>],
                  iterator_types = ["parallel", "reduction"]}
      outs(%x, %y : memref<7x1037xf32>, memref<7xf32>) {
  ^bb0(%old: f32, %out: f32):
    %root = math.sqrt %old : f32
    %sum = arith.addf %out, %root fastmath<reassoc> : f32
    linalg.yield %root, %sum : f32, f32
  }
  return
}

// Elements that do not lie next to each other fill the same lanes one by one.

// CHECK-LABEL: func.func @across
// CHECK: memref.alloca() {{.*}} : memref<64xf32>
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %c1
// CHECK: arith.addf %{{.*}}, %{{.*}} : f32
func.func @across(%x: memref<1037x7xf32>, %y: memref<7xf32>) {
  linalg.generic {indexing_maps = [affine_map<(r, i) -> (i, r)>, affine_map<(r, i) -> (r)>],
                  iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<1037x7xf32>) outs(%y : memref<7xf32>) {
  ^bb0(%in: f32, %out: f32):
    %sum = arith.addf %out, %in fastmath<reassoc> : f32
    linalg.yield %sum : f32
  }
  return
}

// Elements that are summed side by side have rows of lanes: 16 of 4 elements, the
// last 13 of 1037 terms without a loop around.

// CHECK-LABEL: func.func @side_by_side
// CHECK: %[[LANES:.*]] = memref.alloca() {{.*}} : memref<64xf32>
// CHECK: vector.store %{{.*}}, %[[LANES]][%{{.*}}] : memref<64xf32>, vector<4xf32>
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %c1024 step %c16
// CHECK: scf.for %[[ROW:.*]] = %{{.*}} to %c16{{.*}} step %c1
// CHECK: %[[J:.*]] = arith.addi %[[I]], %[[ROW]]
// CHECK: vector.load %{{.*}}[%[[J]], %{{.*}}] : memref<1037x4xf32>, vector<4xf32>
// CHECK: arith.addf %{{.*}}, %{{.*}} : vector<4xf32>
// CHECK: scf.for %{{.*}} = %{{.*}} to %c13 step
// The halves of the lanes: 32, 16, 8 and 4.
// CHECK: scf.for %{{.*}} = %{{.*}} to %c32{{.*}} step %c4
// CHECK: scf.for %{{.*}} = %{{.*}} to %c16{{.*}} step %c4
// CHECK: scf.for %{{.*}} = %{{.*}} to %c8{{.*}} step %c4
// CHECK: scf.for %{{.*}} = %{{.*}} to %c4{{.*}} step %c4
// CHECK: vector.store %{{.*}} : memref<4xf32>, vector<4xf32>
func.func @side_by_side(%x: memref<1037x4xf32>, %y: memref<4xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, r) -> (i, r)>, affine_map<(i, r) -> (r)>],
                  iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<1037x4xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %sum = arith.addf %out, %in fastmath<reassoc> : f32
    linalg.yield %sum : f32
  }
  return
}

// Three loops, elements that do not lie side by side: the same lanes, one by one.

// CHECK-LABEL: func.func @side_by_side_across
// CHECK: memref.alloca() {{.*}} : memref<48xf32>
// CHECK: scf.for %{{.*}} = %{{.*}} to %c9 step
// CHECK: scf.for %{{.*}} = %{{.*}} to %c1032 step %c8
// CHECK: memref.load %{{.*}} : memref<9x1037x3x2xf32>
// CHECK: arith.addf %{{.*}}, %{{.*}} : f32
func.func @side_by_side_across(%x: memref<9x1037x3x2xf32>, %y: memref<9x2x3xf32>) {
  linalg.generic {indexing_maps = [affine_map<(g, i, a, b) -> (g, i, b, a)>, affine_map<(g, i, a, b) -> (g, a, b)>],
                  iterator_types = ["parallel", "reduction", "parallel", "parallel"]}
      ins(%x : memref<9x1037x3x2xf32>) outs(%y : memref<9x2x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    %sum = arith.addf %out, %in fastmath<reassoc> : f32
    linalg.yield %sum : f32
  }
  return
}

// Few terms, and many elements side by side, are added up one after the other. Nobody may choose another order.

// CHECK-LABEL: func.func @few
// CHECK: linalg.generic
// CHECK-NOT: reassoc
func.func @few(%x: memref<7x8xf32>, %y: memref<7xf32>) {
  linalg.generic {indexing_maps = [affine_map<(r, i) -> (r, i)>, affine_map<(r, i) -> (r)>],
                  iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<7x8xf32>) outs(%y : memref<7xf32>) {
  ^bb0(%in: f32, %out: f32):
    %sum = arith.addf %out, %in fastmath<reassoc> : f32
    linalg.yield %sum : f32
  }
  return
}

// CHECK-LABEL: func.func @columns
// CHECK: linalg.generic
// CHECK-NOT: reassoc
func.func @columns(%x: memref<1037x70xf32>, %y: memref<70xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, r) -> (i, r)>, affine_map<(i, r) -> (r)>],
                  iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<1037x70xf32>) outs(%y : memref<70xf32>) {
  ^bb0(%in: f32, %out: f32):
    %sum = arith.addf %out, %in fastmath<reassoc> : f32
    linalg.yield %sum : f32
  }
  return
}
