// Which shape a reduction gets, and what it is made of.
//
// RUN: shoal-opt %s --shoal-map-kernels --split-input-file | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>

// A block per row: partial sums, shuffles in a warp, shared memory, shuffles.
// The softmax's exponentials are written on the way; the initial value is
// combined once, by one thread.
// CHECK-LABEL: gpu.func @exp_sum
// CHECK-SAME: workgroup(%[[SHARED:.*]] : memref<8xf32, #gpu.address_space<workgroup>>)
// CHECK-SAME: "row_reduction vector=4 lanes=256 block=256x1 blocks=64"
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %cst) -> (f32)
// CHECK: vector.load %arg0
// CHECK-COUNT-4: math.exp
// CHECK: vector.store %{{.*}}, %arg1
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: memref.store %{{.*}}, %[[SHARED]]
// CHECK: gpu.barrier
// CHECK: memref.load %[[SHARED]]
// CHECK-COUNT-3: gpu.shuffle xor
// CHECK: scf.if
// CHECK: %[[OLD:.*]] = memref.load %arg2
// CHECK: arith.addf %[[OLD]], %{{.*}} : f32
// CHECK: memref.store %{{.*}}, %arg2
func.func private @exp_sum(%x: memref<64x4096xf32>, %e: memref<64x4096xf32>, %s: memref<64xf32>) {
  linalg.generic {indexing_maps = [#id, #id, #rows], iterator_types = ["parallel", "reduction"]} ins(%x : memref<64x4096xf32>) outs(%e, %s : memref<64x4096xf32>, memref<64xf32>) {
  ^bb0(%in: f32, %out: f32, %sum: f32):
    %0 = math.exp %in : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %0, %1 : f32, f32
  }
  return
}

// -----

// Two lanes per row; rows that do not exist shuffle, too.
// CHECK-LABEL: gpu.func @max_of_eight
// CHECK-SAME: "row_reduction vector=4 lanes=2 block=256x1 blocks=2"
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt
// CHECK: arith.select %[[EXISTS]]
// CHECK-COUNT-1: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return
func.func private @max_of_eight(%x: memref<200x8xf32>, %m: memref<200xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : memref<200x8xf32>) outs(%m : memref<200xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.maximumf %out, %in : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// Rows of threads share columns; the rows are halved until one is left.
// CHECK-LABEL: gpu.func @columns
// CHECK-SAME: memref<512xi64, #gpu.address_space<workgroup>>
// CHECK-SAME: "column_reduction block=32x16 blocks=2"
// CHECK: gpu.thread_id y
// CHECK-COUNT-4: gpu.barrier
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return
func.func private @columns(%x: memref<1000x48xi64>, %s: memref<48xi64>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]} ins(%x : memref<1000x48xi64>) outs(%s : memref<48xi64>) {
  ^bb0(%in: i64, %out: i64):
    %0 = arith.addi %in, %out : i64
    linalg.yield %0 : i64
  }
  return
}

// -----

// An argmax: what decides on one result depends on the other.
// CHECK-LABEL: gpu.func @argmax
// CHECK-SAME: "serial_reduction block=64x1 blocks=1"
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) -> (f32, i32)
// CHECK-NOT: gpu.shuffle
// CHECK: gpu.return
func.func private @argmax(%x: memref<64x128xf32>, %m: memref<64xf32>, %i: memref<64xi32>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : memref<64x128xf32>) outs(%m, %i : memref<64xf32>, memref<64xi32>) {
  ^bb0(%in: f32, %max: f32, %at: i32):
    %j = linalg.index 1 : index
    %here = arith.index_cast %j : index to i32
    %0 = arith.cmpf ogt, %in, %max : f32
    %1 = arith.select %0, %in, %max : f32
    %2 = arith.select %0, %here, %at : i32
    linalg.yield %1, %2 : f32, i32
  }
  return
}

// -----

// Sums in bf16 are rounded at every step: their order is the program's.
// CHECK-LABEL: gpu.func @rounded
// CHECK-SAME: "serial_reduction
func.func private @rounded(%x: memref<64x128xbf16>, %m: memref<64xbf16>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : memref<64x128xbf16>) outs(%m : memref<64xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %0 = arith.addf %out, %in : bf16
    linalg.yield %0 : bf16
  }
  return
}
