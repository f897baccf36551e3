// Every op as it is written, on tensors and on memrefs.
//
// RUN: shoal-opt %s | shoal-opt | FileCheck %s
// RUN: shoal-opt %s --mlir-print-op-generic | shoal-opt | FileCheck %s

shoal.mesh @mesh = <["x" = 2, "y" = 4]>
shoal.mesh @other = <["x" = 2, "y" = 4], device_ids = [1, 0, 2, 3, 4, 5, 6, 7]>

// CHECK-LABEL: @products
func.func @products(%x: memref<4x8xf32>, %w: memref<8x16xf32>, %b: memref<16xf32>, %y: memref<4x16xf32>,
                    %f: memref<4x8xf8E4M3FN>, %g: memref<8x16xf8E5M2>, %s: memref<f32>, %h: memref<4x16xbf16>,
                    %e: memref<3x8x16xf32>, %begins: memref<3xi32>, %ends: memref<3xi32>) {
  // CHECK: rt.einsum "ik,kj->ij" ins(%arg0, %arg1 : memref<4x8xf32>, memref<8x16xf32>) outs(%arg3 : memref<4x16xf32>)
  rt.einsum "ik,kj->ij" ins(%x, %w : memref<4x8xf32>, memref<8x16xf32>) outs(%y : memref<4x16xf32>)
  // CHECK: rt.einsum "ik,kj->ij" {{.*}} plan <cpu pack lhs [8 : 1, 1] [4 : 8, 8] pack rhs [16 : 1, 1] [8 : 16, 16] unpack output [16 : 1, 1] [4 : 16, 16] gemm 2x16x4 a [8, 1] b [16, 1] c [16, 1] outer [2 : 16, 0, 32] summed [2 : 4, 64, 0]>
  rt.einsum "ik,kj->ij" ins(%x, %w : memref<4x8xf32>, memref<8x16xf32>) outs(%y : memref<4x16xf32>)
    plan <cpu pack lhs [8 : 1, 1] [4 : 8, 8] pack rhs [16 : 1, 1] [8 : 16, 16] unpack output [16 : 1, 1] [4 : 16, 16]
          gemm 2x16x4 a [8, 1] b [16, 1] c [16, 1] outer [2 : 16, 0, 32] summed [2 : 4, 64, 0]>
  // CHECK: rt.einsum "ik,kj->ij" {{.*}} plan <gpu prepare lhs [4 : 8, 0, 8] [8 : 1, 0, 1] prepare rhs [8 : 16, 0, 16] [16 : 1, 0, 1] loops [4 : 8, 0, 16] [16 : 0, 1, 1] over [8 : 1, 16, 0]>
  rt.einsum "ik,kj->ij" ins(%f, %g : memref<4x8xf8E4M3FN>, memref<8x16xf8E5M2>) outs(%h : memref<4x16xbf16>)
    plan <gpu prepare lhs [4 : 8, 0, 8] [8 : 1, 0, 1] prepare rhs [8 : 16, 0, 16] [16 : 1, 0, 1]
          loops [4 : 8, 0, 16] [16 : 0, 1, 1] over [8 : 1, 16, 0]>
  // CHECK: rt.einsum "ik,kj->ij" ins({{.*}}) bias "j"(%arg2 : memref<16xf32>) activation relu outs(
  rt.einsum "ik,kj->ij" ins(%x, %w : memref<4x8xf32>, memref<8x16xf32>)
    bias "j"(%b : memref<16xf32>) activation relu outs(%y : memref<4x16xf32>)
  // CHECK: rt.einsum "ik,kj->ij" ins({{.*}}) scales(%arg6, %arg6 : memref<f32>, memref<f32>) activation gelu outs(
  rt.einsum "ik,kj->ij" ins(%f, %g : memref<4x8xf8E4M3FN>, memref<8x16xf8E5M2>)
    scales(%s, %s : memref<f32>, memref<f32>) activation gelu outs(%h : memref<4x16xbf16>)
  // CHECK: rt.ragged_einsum "TM,EMH,E->TH" rows "T" ins({{.*}}) groups(%arg9, %arg10 : memref<3xi32>, memref<3xi32>) outs(
  rt.ragged_einsum "TM,EMH,E->TH" rows "T" ins(%x, %e : memref<4x8xf32>, memref<3x8x16xf32>)
    groups(%begins, %ends : memref<3xi32>, memref<3xi32>) outs(%y : memref<4x16xf32>)
  return
}

// CHECK-LABEL: @collectives
func.func @collectives(%i: memref<i32>, %x: memref<2x8xf32>, %y: memref<4x8xf32>, %z: memref<4x4xf32>, %w: memref<3x8xf32>) {
  // CHECK: rt.axis_index @mesh {"x", "y"} outs(%arg0 : memref<i32>)
  rt.axis_index @mesh {"x", "y"} outs(%i : memref<i32>)
  // CHECK: rt.all_gather @mesh [{"x"}, {}] ins(%arg1 : memref<2x8xf32>) outs(%arg2 : memref<4x8xf32>) {collective = 0 : i64}
  rt.all_gather @mesh [{"x"}, {}] ins(%x : memref<2x8xf32>) outs(%y : memref<4x8xf32>) {collective = 0 : i64}
  // CHECK: rt.all_slice @mesh [{"y":(1)2}, {}] ins(%arg2 : memref<4x8xf32>) outs(%arg1 : memref<2x8xf32>)
  rt.all_slice @mesh [{"y":(1)2}, {}] ins(%y : memref<4x8xf32>) outs(%x : memref<2x8xf32>)
  // CHECK: rt.all_reduce max @mesh {"x"} ins(%arg1 : memref<2x8xf32>) outs(%arg1 : memref<2x8xf32>)
  rt.all_reduce max @mesh {"x"} ins(%x : memref<2x8xf32>) outs(%x : memref<2x8xf32>)
  // CHECK: rt.reduce_scatter sum @mesh [{"x"}, {}] ins(%arg2 : memref<4x8xf32>) outs(%arg1 : memref<2x8xf32>)
  rt.reduce_scatter sum @mesh [{"x"}, {}] ins(%y : memref<4x8xf32>) outs(%x : memref<2x8xf32>)
  // CHECK: rt.all_to_all @mesh [{"x"} : 0 -> 1] ins(%arg1 : memref<2x8xf32>) outs(%arg3 : memref<4x4xf32>)
  rt.all_to_all @mesh [{"x"} : 0 -> 1] ins(%x : memref<2x8xf32>) outs(%z : memref<4x4xf32>)
  // CHECK: rt.collective_permute @mesh {"x", "y"} -> @other {"y", "x"} ins({{.*}}) outs({{.*}}) {shift = 1 : i64}
  rt.collective_permute @mesh {"x", "y"} -> @other {"y", "x"} ins(%x : memref<2x8xf32>) outs(%x : memref<2x8xf32>) {shift = 1 : i64}
  // CHECK: rt.collective_permute @mesh {"x"} -> @mesh {"x"} ins({{.*}}) outs({{.*}}) {pairs = array<i64: 1, 0>}
  rt.collective_permute @mesh {"x"} -> @mesh {"x"} ins(%x : memref<2x8xf32>) outs(%x : memref<2x8xf32>) {pairs = array<i64: 1, 0>}
  // CHECK: rt.exchange @mesh -> @other
  // CHECK-SAME: [#rt.exchange_dim<size = 4, step = 2, offset = -1, divisor = 3, rows = 3, source = {"x"}, target = {"y":(1)2}>,
  // CHECK-SAME:  #rt.exchange_dim<size = 8, rows = 8, source = {}, target = {}>] halo ins(
  rt.exchange @mesh -> @other
    [#rt.exchange_dim<size = 4, step = 2, offset = -1, divisor = 3, rows = 3, source = {"x"}, target = {"y":(1)2}>,
     #rt.exchange_dim<size = 8, rows = 8, source = {}, target = {}>] halo
    ins(%x : memref<2x8xf32>) outs(%w : memref<3x8xf32>)
  // CHECK: rt.wait 3
  rt.wait 3
  return
}

// CHECK-LABEL: @ordering
func.func @ordering(%x: memref<4x6xf32>, %y: memref<4x6xf32>, %v: memref<4x2xf32>, %i: memref<4x2xi32>) {
  // CHECK: rt.cumulative prod dim 1 ins(%arg0 : memref<4x6xf32>) outs(%arg1 : memref<4x6xf32>) {exclusive, reverse}
  rt.cumulative prod dim 1 ins(%x : memref<4x6xf32>) outs(%y : memref<4x6xf32>) {exclusive, reverse}
  // CHECK: rt.top_k ins(%arg0 : memref<4x6xf32>) outs(%arg2, %arg3 : memref<4x2xf32>, memref<4x2xi32>)
  rt.top_k ins(%x : memref<4x6xf32>) outs(%v, %i : memref<4x2xf32>, memref<4x2xi32>)
  // CHECK: rt.sort keys 1 dim 0 ins(%arg0 : memref<4x6xf32>) outs(%arg1 : memref<4x6xf32>) {descending}
  rt.sort keys 1 dim 0 ins(%x : memref<4x6xf32>) outs(%y : memref<4x6xf32>) {descending}
  return
}

// On tensors there are results.
// CHECK-LABEL: @indexing
func.func @indexing(%x: tensor<8x16xf32>, %i: tensor<3xi32>, %init: tensor<3x16xf32>, %scalar: tensor<f32>, %one: tensor<1xi32>)
    -> (tensor<8x16xf32>, tensor<f32>) {
  // CHECK: rt.gather <[8 by 1 at 0, 16 by 16 step 1] loop [3 : 1, 0, 16]> ins({{.*}}) outs({{.*}}) -> tensor<3x16xf32>
  %0 = rt.gather <[8 by 1 at 0, 16 by 16 step 1] loop [3 : 1, 0, 16]>
    ins(%x, %i : tensor<8x16xf32>, tensor<3xi32>) outs(%init : tensor<3x16xf32>) -> tensor<3x16xf32>
  // CHECK: rt.scatter <[8 by 1 at 0, 16 by 16 step 1] loop [3 : 1, 0, 16]> kind sum ins({{.*}}) outs({{.*}}) {clamps} -> tensor<8x16xf32>
  %1 = rt.scatter <[8 by 1 at 0, 16 by 16 step 1] loop [3 : 1, 0, 16]> kind sum
    ins(%i, %0 : tensor<3xi32>, tensor<3x16xf32>) outs(%x : tensor<8x16xf32>) {clamps} -> tensor<8x16xf32>
  // CHECK: rt.gather <[]> ins(
  %2 = rt.gather <[]> ins(%scalar, %one : tensor<f32>, tensor<1xi32>) outs(%scalar : tensor<f32>) -> tensor<f32>
  return %1, %2 : tensor<8x16xf32>, tensor<f32>
}

// CHECK-LABEL: @rows
func.func @rows(%x: memref<8x16xf32>, %first: index) -> memref<2x8xf32> {
  // CHECK: rt.rows %arg0[%arg1] : memref<8x16xf32> to memref<2x8xf32>
  %0 = rt.rows %x[%first] : memref<8x16xf32> to memref<2x8xf32>
  return %0 : memref<2x8xf32>
}

// CHECK-LABEL: @program
func.func @program(%x: memref<4x4xf32>, %y: memref<4x4xf32, strided<[8, 1], offset: 2>>, %z: memref<4x4xf32>, %c: memref<i1>) {
  // CHECK: rt.custom_call "scale" config "by 2" ins(%arg0 : memref<4x4xf32>) outs(%arg2 : memref<4x4xf32>)
  rt.custom_call "scale" config "by 2" ins(%x : memref<4x4xf32>) outs(%z : memref<4x4xf32>)
  // CHECK: rt.custom_call "make" outs(%arg2 : memref<4x4xf32>)
  rt.custom_call "make" outs(%z : memref<4x4xf32>)
  // CHECK: rt.launch 2 grid [4, 1, 1] block [32, 2, 1] touches [#rt.touch<read 64 from 0>, #rt.touch<read_write 112 from 8>] ins(
  rt.launch 2 grid [4, 1, 1] block [32, 2, 1] touches [#rt.touch<read 64 from 0>, #rt.touch<read_write 112 from 8>]
    ins(%x : memref<4x4xf32>) outs(%y : memref<4x4xf32, strided<[8, 1], offset: 2>>)
  // CHECK: rt.launch 0 grid [1, 1, 1] block [1, 1, 1] shared 1024 touches [#rt.touch<write 64 from 0>] outs(
  rt.launch 0 grid [1, 1, 1] block [1, 1, 1] shared 1024 touches [#rt.touch<write 64 from 0>] outs(%z : memref<4x4xf32>)
  // CHECK: rt.host_call "x = {0}" at "f.py:1:1" unsigned [0] ins(%arg0 : memref<4x4xf32>)
  rt.host_call "x = {0}" at "f.py:1:1" unsigned [0] ins(%x : memref<4x4xf32>)
  // CHECK: rt.host_call "f" number 3 at "f.py:1:1" ins(%arg0 : memref<4x4xf32>) outs(%arg2 : memref<4x4xf32>)
  rt.host_call "f" number 3 at "f.py:1:1" ins(%x : memref<4x4xf32>) outs(%z : memref<4x4xf32>)
  // CHECK: rt.copy ins(%arg0 : memref<4x4xf32>) outs(%arg2 : memref<4x4xf32>)
  rt.copy ins(%x : memref<4x4xf32>) outs(%z : memref<4x4xf32>)
  // CHECK: rt.read_scalar %arg3 : memref<i1>
  %0 = rt.read_scalar %c : memref<i1>
  return
}

// Halves are of one shape; one may be a view.
// CHECK-LABEL: @transform
func.func @transform(%x: memref<9xf64>, %y: memref<9xf64, strided<[1]>>) {
  // CHECK: rt.fft dim 0 ins(%{{.*}}, %{{.*}} : memref<9xf64>, memref<9xf64, strided<[1]>>)
  rt.fft dim 0 ins(%x, %y : memref<9xf64>, memref<9xf64, strided<[1]>>) outs(%x, %y : memref<9xf64>, memref<9xf64, strided<[1]>>)
  return
}
