// What a GPU runs: wide accesses, full-precision functions and divisions,
// rounding to nearest. ptxas takes the code of three generations.
//
// REQUIRES: cuda
// RUN: shoal-opt %s --shoal-map-kernels --shoal-write-image="archs=sm_90 ptx" -o /dev/null | FileCheck %s
// RUN: shoal-opt %s --shoal-map-kernels --shoal-write-image="archs=sm_80,sm_90,sm_100 output=%t.fatbin" -o /dev/null

#id = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>

// CHECK: .target sm_90
// CHECK-LABEL: .visible .entry silu(
// CHECK: ld.global.nc.v4.b32
// CHECK: div.rn.f32
// CHECK: st.global.v4.b32
func.func private @silu(%x: memref<64x64xf32> {llvm.noalias, llvm.readonly}, %y: memref<64x64xf32> {llvm.noalias}) {
  %one = arith.constant 1.0 : f32
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<64x64xf32>) outs(%y : memref<64x64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.negf %in : f32
    %1 = math.exp %0 : f32
    %2 = arith.addf %1, %one : f32
    %3 = arith.divf %in, %2 : f32
    linalg.yield %3 : f32
  }
  return
}

// Eight elements of bf16 are 16 bytes.
// CHECK-LABEL: .visible .entry halves(
// CHECK: ld.global.nc.v4.b32
// CHECK: cvt.rn.bf16
// CHECK: st.global.v4.b32
func.func private @halves(%x: memref<64x64xbf16> {llvm.noalias, llvm.readonly}, %y: memref<64x64xbf16> {llvm.noalias}) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<64x64xbf16>) outs(%y : memref<64x64xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %0 = math.tanh %in : bf16
    linalg.yield %0 : bf16
  }
  return
}

// CHECK-LABEL: .visible .entry sums(
// CHECK: ld.global.nc.v4.b32
// CHECK: add.rn.f32
// CHECK-COUNT-5: shfl.sync.bfly.b32
// CHECK: st.shared
// CHECK: bar.sync
// CHECK: ld.shared
// CHECK: shfl.sync.bfly.b32
// CHECK: st.global.b32
func.func private @sums(%x: memref<64x4096xf32> {llvm.noalias, llvm.readonly}, %y: memref<64xf32> {llvm.noalias}) {
  linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]} ins(%x : memref<64x4096xf32>) outs(%y : memref<64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  }
  return
}

// What a body reads through indices is as wide, also where an index of the
// loops is not the loop itself.
// CHECK-LABEL: .visible .entry rows(
// CHECK: ld.global.nc.b32
// CHECK: ld.global.nc.v4.b32
// CHECK-NOT: ld.global
// CHECK: st.global.v4.b32
func.func private @rows(%starts: memref<64xi32> {llvm.noalias, llvm.readonly}, %x: memref<8192xf32> {llvm.noalias, llvm.readonly}, %y: memref<64x64xf32> {llvm.noalias}) {
  %c64 = arith.constant 64 : index
  linalg.generic {indexing_maps = [#rows, #id], iterator_types = ["parallel", "parallel"]} ins(%starts : memref<64xi32>) outs(%y : memref<64x64xf32>) {
  ^bb0(%start: i32, %out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %odd = affine.apply affine_map<(d0) -> (d0 * 2 + 1)>(%i)
    %odds = arith.index_cast %odd : index to i32
    %0 = arith.maxsi %start, %odds : i32
    %row = arith.index_cast %0 : i32 to index
    %begin = arith.muli %row, %c64 : index
    %place = affine.apply affine_map<(d0, d1) -> (d0 + d1)>(%begin, %j)
    %1 = memref.load %x[%place] : memref<8192xf32>
    linalg.yield %1 : f32
  }
  return
}
