// RUN: shoal-opt %s --shoal-fuse-fills --split-input-file | FileCheck %s
// RUN: shoal-opt %s --shoal-fuse-fills --shoal-plan-memory --shoal-outline-kernels --shoal-map-kernels --split-input-file | FileCheck %s --check-prefix=KERNEL

#id = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>

// One launch, which does not read what it writes.
// CHECK-LABEL: func.func @begins_with_zero
// CHECK-NOT: linalg.fill
// CHECK: linalg.generic
// CHECK-SAME: shoal.initial = [0.000000e+00 : f32]
// KERNEL-LABEL: func.func @begins_with_zero
// KERNEL: rt.launch 0 grid [16, 1, 1] block [256, 1, 1] touches [#rt.touch<read 65536 from 0>, #rt.touch<write 512 from 0>]
// KERNEL-NOT: {{[^a-z]}}rt.
// KERNEL: gpu.func
// KERNEL-NOT: memref.load %arg1
// KERNEL: memref.store %{{.*}}, %arg1
func.func @begins_with_zero(%x: memref<128x128xf32>, %s: memref<128xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%s : memref<128xf32>)
  linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]} ins(%x : memref<128x128xf32>) outs(%s : memref<128xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>

// The buffer is read in between, another part of it was filled, all of it is
// written: no fill goes away.
// CHECK-LABEL: func.func @kept
// CHECK-COUNT-3: linalg.fill
// CHECK-NOT: shoal.initial
func.func @kept(%x: memref<8x8xf32>, %s: memref<8xf32>, %t: memref<8xf32>, %m: memref<8x8xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%s : memref<8xf32>)
  memref.copy %s, %t : memref<8xf32> to memref<8xf32>
  linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]} ins(%x : memref<8x8xf32>) outs(%s : memref<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  %half = memref.subview %t[0] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1]>>
  linalg.fill ins(%zero : f32) outs(%half : memref<4xf32, strided<[1]>>)
  linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]} ins(%x : memref<8x8xf32>) outs(%t : memref<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  linalg.fill ins(%zero : f32) outs(%m : memref<8x8xf32>)
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<8x8xf32>) outs(%m : memref<8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#rows = affine_map<(d0, d1) -> (d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>

// What was filled is read through indices: by an op in between, by the
// reduction itself.
// CHECK-LABEL: func.func @read_through_indices
// CHECK-COUNT-2: linalg.fill
// CHECK-NOT: shoal.initial
func.func @read_through_indices(%n: memref<8x8xi32>, %s: memref<8xf32>, %t: memref<8x8xf32>, %u: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%s : memref<8xf32>)
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%n : memref<8x8xi32>) outs(%t : memref<8x8xf32>) {
  ^bb0(%in: i32, %out: f32):
    %at = arith.index_cast %in : i32 to index
    %0 = memref.load %s[%at] : memref<8xf32>
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]} ins(%t : memref<8x8xf32>) outs(%s : memref<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  linalg.fill ins(%zero : f32) outs(%u : memref<8xf32>)
  linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]} ins(%n : memref<8x8xi32>) outs(%u : memref<8xf32>) {
  ^bb0(%in: i32, %out: f32):
    %at = arith.index_cast %in : i32 to index
    %0 = memref.load %u[%at] : memref<8xf32>
    %1 = arith.addf %0, %out : f32
    linalg.yield %1 : f32
  }
  return
}
