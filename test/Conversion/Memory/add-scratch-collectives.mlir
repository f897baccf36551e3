// What collectives pack and receive; what lies in order needs nothing.
//
// RUN: shoal-opt %s --shoal-add-scratch=machine=cpu | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: shoal-opt %s --shoal-add-scratch=machine=gpu | FileCheck %s --check-prefixes=CHECK,DEVICE

shoal.mesh @mesh = <["x" = 4]>

// Rows lie one after another, columns do not.
// CHECK-LABEL: @gathers
// CHECK: rt.all_gather @mesh [{"x"}, {}] ins({{.*}}) outs({{.*}}) {collective
// CHECK: memref.alloc() : memref<512xi8>
// CHECK: rt.all_gather @mesh [{}, {"x"}] {{.*}} scratch(
func.func @gathers(%rows: memref<4x8xf32>, %columns: memref<16x2xf32>, %y: memref<16x8xf32>) {
  rt.all_gather @mesh [{"x"}, {}] ins(%rows : memref<4x8xf32>) outs(%y : memref<16x8xf32>) {collective = 0 : i64}
  rt.all_gather @mesh [{}, {"x"}] ins(%columns : memref<16x2xf32>) outs(%y : memref<16x8xf32>) {collective = 1 : i64}
  return
}

// A CPU has the terms of a block, of 4 MiB at a time; a device those that
// NCCL does not reduce, of a maximum.
// CHECK-LABEL: @reductions
// CPU: memref.alloc() : memref<4194304xi8>
// CPU: rt.reduce_scatter {{.*}} scratch(
// CPU: rt.all_reduce max @mesh {"x"} ins({{.*}}) outs({{.*}}) {collective
// DEVICE: rt.reduce_scatter sum @mesh {{.*}} ins({{.*}}) outs({{.*}}) {collective
// DEVICE: memref.alloc() : memref<64xi8>
// DEVICE: rt.all_reduce max {{.*}} scratch(
func.func @reductions(%x: memref<4096x4096xf32>, %y: memref<1024x4096xf32>, %z: memref<16xf32>) {
  rt.reduce_scatter sum @mesh [{"x"}, {}] ins(%x : memref<4096x4096xf32>) outs(%y : memref<1024x4096xf32>) {collective = 0 : i64}
  rt.all_reduce max @mesh {"x"} ins(%z : memref<16xf32>) outs(%z : memref<16xf32>) {collective = 1 : i64}
  return
}

// A column from each neighbour, 3 rows of it: 24 bytes are sent, as many are
// received.
// CHECK-LABEL: @halo
// CHECK: memref.alloc() : memref<128xi8>
func.func @halo(%x: memref<3x100xf32>, %y: memref<3x102xf32>) {
  rt.exchange @mesh -> @mesh
    [#rt.exchange_dim<size = 3, rows = 3, source = {}, target = {}>,
     #rt.exchange_dim<size = 400, step = 100, offset = -1, rows = 102, source = {"x"}, target = {"x"}>] halo
    ins(%x : memref<3x100xf32>) outs(%y : memref<3x102xf32>) {collective = 0 : i64}
  return
}
