// RUN: shoal-opt %s --shoal-map-kernels --split-input-file | FileCheck %s
// RUN: shoal-opt %s --shoal-map-kernels=max-blocks=2 --split-input-file | FileCheck %s --check-prefix=TURNS


// Three loops on dense buffers are one; a thread takes 16 bytes.
// CHECK-LABEL: func.func @dense
// CHECK-NEXT: rt.launch 0 grid [16, 1, 1] block [256, 1, 1] touches [#rt.touch<read 65536 from 0>, #rt.touch<write 65536 from 0>]
// CHECK-SAME: ins(%arg0 : memref<4x64x64xf32>) outs(%arg1 : memref<4x64x64xf32>)
// The second kernel is the same.
// CHECK-NEXT: rt.launch 0 grid [16, 1, 1] block [256, 1, 1] touches [#rt.touch<read 65536 from 0>, #rt.touch<write 65536 from 0>]
// CHECK-NOT: func.func
// CHECK: gpu.module @shoal_kernels
// CHECK: gpu.func @exp(%[[X:.*]]: memref<16384xf32> {llvm.noalias, llvm.readonly}, %[[Y:.*]]: memref<16384xf32> {llvm.noalias}) kernel
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>, shoal.schedule = "map vector=4 block=256x1 blocks=16"
// CHECK-NOT: scf.if
// CHECK: vector.load %[[X]][%{{.*}}] {alignment = 16 : i64} : memref<16384xf32>, vector<4xf32>
// CHECK-COUNT-4: math.exp
// CHECK: vector.store %{{.*}}, %[[Y]]
// CHECK-NOT: gpu.func
func.func @dense(%x: memref<4x64x64xf32>, %y: memref<4x64x64xf32>) {
  call @exp(%x, %y) : (memref<4x64x64xf32>, memref<4x64x64xf32>) -> ()
  call @exp_again(%y, %x) : (memref<4x64x64xf32>, memref<4x64x64xf32>) -> ()
  return
}
func.func private @exp(%x: memref<4x64x64xf32> {llvm.noalias, llvm.readonly}, %y: memref<4x64x64xf32> {llvm.noalias}) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : memref<4x64x64xf32>) outs(%y : memref<4x64x64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.exp %in : f32
    linalg.yield %0 : f32
  }
  return
}
func.func private @exp_again(%x: memref<4x64x64xf32> {llvm.noalias, llvm.readonly}, %y: memref<4x64x64xf32> {llvm.noalias}) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : memref<4x64x64xf32>) outs(%y : memref<4x64x64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.exp %in : f32
    linalg.yield %0 : f32
  }
  return
}

// More blocks than the grid has take turns.
// TURNS-LABEL: gpu.func @exp
// TURNS-SAME: blocks=16 grid=2"
// TURNS: scf.for %{{.*}} = %{{.*}} to %c16_i32 step %c2_i32

// -----

// Bytes of a row that is a part of a larger one; a bool takes a byte, a bias is
// read where it lies. What is left over of a block does nothing.
// CHECK-LABEL: func.func @parts
// CHECK: rt.launch 0 grid [2, 1, 1] block [256, 1, 1] touches [#rt.touch<read 1588 from 20>, #rt.touch<read 28 from 0>, #rt.touch<write 280 from 0>]
// CHECK: gpu.func @positive(%[[X:.*]]: memref<402xf32>, %[[B:.*]]: memref<7xf32>, %[[Y:.*]]: memref<280xi8>)
// CHECK-SAME: "map block=256x1 blocks=2"
// CHECK: scf.if
// CHECK: arith.divui
// CHECK: arith.extui %{{.*}} : i1 to i8
// CHECK: memref.store %{{.*}}, %[[Y]][%{{.*}}] : memref<280xi8>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
#row2 = affine_map<(d0, d1) -> (d1)>
func.func @parts(%x: memref<40x7xf32, strided<[10, 1], offset: 5>>, %b: memref<7xf32>, %y: memref<40x7xi1>) {
  call @positive(%x, %b, %y) : (memref<40x7xf32, strided<[10, 1], offset: 5>>, memref<7xf32>, memref<40x7xi1>) -> ()
  return
}
func.func private @positive(%x: memref<40x7xf32, strided<[10, 1], offset: 5>>, %b: memref<7xf32>, %y: memref<40x7xi1>) {
  linalg.generic {indexing_maps = [#id2, #row2, #id2], iterator_types = ["parallel", "parallel"]} ins(%x, %b : memref<40x7xf32, strided<[10, 1], offset: 5>>, memref<7xf32>) outs(%y : memref<40x7xi1>) {
  ^bb0(%in: f32, %bias: f32, %out: i1):
    %0 = arith.cmpf ogt, %in, %bias : f32
    linalg.yield %0 : i1
  }
  return
}

// -----

// Nothing is launched for no elements; a scalar is one thread.
// CHECK-LABEL: func.func @edges
// CHECK-NEXT: rt.launch 0 grid [1, 1, 1] block [1, 1, 1] touches [#rt.touch<write 8 from 0>]
// CHECK-NEXT: return
func.func @edges(%none: memref<0x4xf64>, %one: memref<f64>) {
  call @fill_none(%none) : (memref<0x4xf64>) -> ()
  call @fill_one(%one) : (memref<f64>) -> ()
  return
}
func.func private @fill_none(%x: memref<0x4xf64> {llvm.noalias}) {
  %zero = arith.constant 0.0 : f64
  linalg.fill ins(%zero : f64) outs(%x : memref<0x4xf64>)
  return
}
func.func private @fill_one(%x: memref<f64> {llvm.noalias}) {
  %zero = arith.constant 0.0 : f64
  linalg.fill ins(%zero : f64) outs(%x : memref<f64>)
  return
}

// -----

// A buffer that is read and written comes last, and is one parameter. More than
// 2^31 elements need wide indices.
// CHECK-LABEL: func.func @large
// CHECK: rt.launch 0 grid [3145728, 1, 1] block [256, 1, 1] touches [#rt.touch<read 4 from 0>, #rt.touch<read_write 12884901888 from 0>]
// CHECK: gpu.func @scale(%{{.*}}: memref<1xf32>, %{{.*}}: memref<3221225472xf32>)
// CHECK-SAME: "map vector=4 block=256x1 blocks=3145728 int64"
func.func @large(%x: memref<3221225472xf32>, %s: memref<f32>) {
  call @scale(%x, %s) : (memref<3221225472xf32>, memref<f32>) -> ()
  return
}
func.func private @scale(%x: memref<3221225472xf32>, %s: memref<f32>) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%s : memref<f32>) outs(%x : memref<3221225472xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.mulf %in, %out : f32
    linalg.yield %0 : f32
  }
  return
}
