// RUN: shoal-opt %s --pass-pipeline='builtin.module(func.func(shoal-tile-for-threads,canonicalize,cse))' | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>

// 2 MiB are 64 tiles.
// CHECK-LABEL: @rows(
// CHECK: scf.parallel (%{{.*}}) = (%c0) to (%c1024) step (%c16)
// CHECK: memref.subview %{{.*}} [16, 256] [1, 1]
// CHECK: linalg.exp
// CHECK: } {shoal.tile_bytes = 32768 : i64}
func.func private @rows(%x: memref<1024x256xf32> {llvm.noalias, llvm.readonly}, %y: memref<1024x256xf32> {llvm.noalias}) {
  linalg.exp ins(%x : memref<1024x256xf32>) outs(%y : memref<1024x256xf32>)
  return
}

// The innermost loop is cut at whole cache lines.
// CHECK-LABEL: @line(
// CHECK: scf.parallel (%{{.*}}) = (%c0) to (%c999999) step (%c4160)
// CHECK: affine.min
func.func private @line(%x: memref<999999xf32> {llvm.noalias, llvm.readonly}, %y: memref<999999xf32> {llvm.noalias}) {
  linalg.abs ins(%x : memref<999999xf32>) outs(%y : memref<999999xf32>)
  return
}

// Few outer iterations: both loops.
// CHECK-LABEL: @both(
// CHECK: scf.parallel (%{{.*}}, %{{.*}}) = (%c0, %c0) to (%c2, %c262144) step (%c1, %c4096)
func.func private @both(%x: memref<2x262144xf32> {llvm.noalias, llvm.readonly}, %y: memref<2x262144xf32> {llvm.noalias}) {
  linalg.abs ins(%x : memref<2x262144xf32>) outs(%y : memref<2x262144xf32>)
  return
}

// Sums stay whole: each element's terms come in one order.
// CHECK-LABEL: @sums_of_rows(
// CHECK: scf.parallel (%{{.*}}) = (%c0) to (%c1024)
// CHECK: memref.subview %{{.*}} [{{[0-9]+}}, 256] [1, 1]
func.func private @sums_of_rows(%x: memref<1024x256xf32> {llvm.noalias, llvm.readonly}, %y: memref<1024xf32> {llvm.noalias}) {
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<1024x256xf32>) outs(%y : memref<1024xf32>) {
  ^bb0(%in: f32, %out: f32):
    %sum = arith.addf %in, %out : f32
    linalg.yield %sum : f32
  }
  return
}

// CHECK-LABEL: @sums_of_columns(
// CHECK: scf.parallel (%{{.*}}) = (%c0) to (%c2048) step (%c512)
// CHECK: memref.subview %{{.*}} [1024, 512] [1, 1]
func.func private @sums_of_columns(%x: memref<1024x2048xf32> {llvm.noalias, llvm.readonly}, %y: memref<2048xf32> {llvm.noalias}) {
  linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%x : memref<1024x2048xf32>) outs(%y : memref<2048xf32>) {
  ^bb0(%in: f32, %out: f32):
    %sum = arith.addf %in, %out : f32
    linalg.yield %sum : f32
  }
  return
}

// Of a transposed operand whole squares are read.
// CHECK-LABEL: @transpose(
// CHECK: scf.parallel (%{{.*}}) = (%c0) to (%c1056) step (%c32)
// CHECK: memref.subview %{{.*}} [700, 32] [1, 1]
func.func private @transpose(%x: memref<700x1056xf32> {llvm.noalias, llvm.readonly}, %y: memref<1056x700xf32> {llvm.noalias}) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<700x1056xf32>) outs(%y : memref<1056x700xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  return
}

// What is small stays on its thread,
// CHECK-LABEL: @small(
// CHECK-NOT: scf.parallel
func.func private @small(%x: memref<64x64xf32> {llvm.noalias, llvm.readonly}, %y: memref<64x64xf32> {llvm.noalias}) {
  linalg.exp ins(%x : memref<64x64xf32>) outs(%y : memref<64x64xf32>)
  return
}

// and so does what has one element, and what may read what it writes elsewhere.
// CHECK-LABEL: @one_sum(
// CHECK-NOT: scf.parallel
func.func private @one_sum(%x: memref<1000000xf32> {llvm.noalias, llvm.readonly}, %y: memref<f32> {llvm.noalias}) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%x : memref<1000000xf32>) outs(%y : memref<f32>) {
  ^bb0(%in: f32, %out: f32):
    %sum = arith.addf %in, %out : f32
    linalg.yield %sum : f32
  }
  return
}

// CHECK-LABEL: @aliases(
// CHECK-NOT: scf.parallel
func.func private @aliases(%x: memref<1024x256xf32>, %y: memref<1024x256xf32>) {
  linalg.exp ins(%x : memref<1024x256xf32>) outs(%y : memref<1024x256xf32>)
  return
}

// Nor is anything cut that is no kernel.
// CHECK-LABEL: @program(
// CHECK-NOT: scf.parallel
func.func @program(%x: memref<1024x256xf32> {llvm.noalias}, %y: memref<1024x256xf32> {llvm.noalias}) {
  linalg.exp ins(%x : memref<1024x256xf32>) outs(%y : memref<1024x256xf32>)
  return
}

// Ops on the same rows: 32 MiB in tiles of 64 KiB, and all that is done with a tile's rows.
// CHECK-LABEL: @group(
// CHECK: scf.parallel (%[[ROW:.*]]) = (%c0) to (%c4096) step (%c8)
// CHECK-DAG: %[[X:.*]] = memref.subview %arg0[%[[ROW]], 0] [8, 1024] [1, 1]
// CHECK-DAG: %[[SUM:.*]] = memref.subview %arg1[%[[ROW]]] [8] [1]
// CHECK: linalg.generic {{.*}}"reduction"]} ins(%[[X]] {{.*}} outs(%[[SUM]]
// CHECK: linalg.generic {{.*}}["parallel", "parallel"]} ins(%[[X]], %[[SUM]]
// CHECK: linalg.index 0
// CHECK-NEXT: affine.apply {{.*}}(%[[ROW]])
// CHECK-NOT: linalg.generic
// CHECK: shoal.tile_bytes
func.func private @group(%x: memref<4096x1024xf32> {llvm.noalias, llvm.readonly}, %m: memref<4096xf32> {llvm.noalias}, %y: memref<4096x1024xf32> {llvm.noalias}) {
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<4096x1024xf32>) outs(%m : memref<4096xf32>) {
  ^bb0(%in: f32, %out: f32):
    %sum = arith.addf %in, %out : f32
    linalg.yield %sum : f32
  }
  linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %m : memref<4096x1024xf32>, memref<4096xf32>) outs(%y : memref<4096x1024xf32>) {
  ^bb0(%in: f32, %sum: f32, %out: f32):
    %place = linalg.index 0 : index
    %number = arith.index_cast %place : index to i32
    %row = arith.sitofp %number : i32 to f32
    %0 = arith.divf %in, %sum : f32
    %1 = arith.addf %0, %row : f32
    linalg.yield %1 : f32
  }
  return
}

// What a tile reads follows from the operand's map. Windows of 3 places, 2 rows
// apart: 16 of them read 33 rows.
// CHECK-LABEL: @windows(
// CHECK: scf.parallel (%[[ROW:.*]]) = (%c0) to (%c256) step (%c16)
// CHECK: %[[BEGIN:.*]] = affine.apply #{{.*}}(%[[ROW]])
// CHECK: memref.subview %{{.*}}[%[[BEGIN]], 0] [33, 256] [1, 1]
func.func private @windows(%x: memref<513x256xf32> {llvm.noalias, llvm.readonly}, %w: memref<3xi8> {llvm.noalias, llvm.readonly}, %y: memref<256x256xf32> {llvm.noalias}) {
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i * 2 + k, j)>, affine_map<(i, j, k) -> (k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : memref<513x256xf32>, memref<3xi8>) outs(%y : memref<256x256xf32>) {
  ^bb0(%in: f32, %place: i8, %out: f32):
    %max = arith.maximumf %in, %out : f32
    linalg.yield %max : f32
  }
  return
}

// Windows from their end, as select_and_scatter adds them: 16 rows stand in 18.
// CHECK-LABEL: @windows_from_their_end(
// CHECK: scf.parallel (%[[ROW:.*]]) = (%c0) to (%c512) step (%c16)
// CHECK: memref.subview %{{.*}}[%[[ROW]], 0] [18, 256] [1, 1]
func.func private @windows_from_their_end(%x: memref<514x256xf32> {llvm.noalias, llvm.readonly}, %w: memref<3xi8> {llvm.noalias, llvm.readonly}, %y: memref<512x256xf32> {llvm.noalias}) {
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i - k + 2, j)>, affine_map<(i, j, k) -> (k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : memref<514x256xf32>, memref<3xi8>) outs(%y : memref<512x256xf32>) {
  ^bb0(%in: f32, %place: i8, %out: f32):
    %max = arith.maximumf %in, %out : f32
    linalg.yield %max : f32
  }
  return
}

// Rows that run backwards: the tile's last row comes first, and all tiles are
// alike.
// CHECK-LABEL: @reversed(
// CHECK: scf.parallel (%[[ROW:.*]]) = (%c0) to (%c1000) step (%c20)
// CHECK: %[[BEGIN:.*]] = affine.apply #{{.*}}(%[[ROW]])
// CHECK: memref.subview %{{.*}}[%[[BEGIN]], 0] [20, 256] [1, 1]
func.func private @reversed(%x: memref<1000x256xf32> {llvm.noalias, llvm.readonly}, %y: memref<1000x256xf32> {llvm.noalias}) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (-d0 + 999, d1)>, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<1000x256xf32>) outs(%y : memref<1000x256xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  return
}

// A prime number of them has no such tiles,
// CHECK-LABEL: @reversed_prime(
// CHECK-NOT: scf.parallel
func.func private @reversed_prime(%x: memref<997x256xf32> {llvm.noalias, llvm.readonly}, %y: memref<997x256xf32> {llvm.noalias}) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (-d0 + 996, d1)>, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<997x256xf32>) outs(%y : memref<997x256xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  return
}

// and no loop is cut that an operand does not follow step by step.
// CHECK-LABEL: @repeated(
// CHECK-NOT: scf.parallel
func.func private @repeated(%x: memref<512x256xf32> {llvm.noalias, llvm.readonly}, %y: memref<1024x256xf32> {llvm.noalias}) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0 floordiv 2, d1)>, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<512x256xf32>) outs(%y : memref<1024x256xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  return
}
