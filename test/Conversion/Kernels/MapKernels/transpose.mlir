// RUN: shoal-opt %s --shoal-map-kernels | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#t = affine_map<(d0, d1) -> (d1, d0)>

// The transposed operand goes through a tile whose rows have one element more;
// the other is read where it lies.
// CHECK-LABEL: gpu.func @add_transposed
// CHECK-SAME: workgroup(%[[TILE:.*]] : memref<1056xf32, #gpu.address_space<workgroup>>)
// CHECK-SAME: "transpose block=32x8 blocks=6"
// CHECK: memref.load %arg0
// CHECK: memref.store %{{.*}}, %[[TILE]]
// CHECK: gpu.barrier
// CHECK: memref.load %[[TILE]]
// CHECK: memref.load %arg1
// CHECK: memref.store %{{.*}}, %arg2
func.func private @add_transposed(%x: memref<70x50xf32>, %y: memref<50x70xf32>, %z: memref<50x70xf32>) {
  linalg.generic {indexing_maps = [#t, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %y : memref<70x50xf32>, memref<50x70xf32>) outs(%z : memref<50x70xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  }
  return
}

// A loop of few elements is not worth a tile.
// CHECK-LABEL: gpu.func @narrow
// CHECK-SAME: "map
func.func private @narrow(%x: memref<70x4xf32>, %z: memref<4x70xf32>) {
  linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<70x4xf32>) outs(%z : memref<4x70xf32>) {
  ^bb0(%a: f32, %out: f32):
    linalg.yield %a : f32
  }
  return
}
