// Between a collective and the first op that waits for it come others.
//
// RUN: shoal-opt %s --split-input-file --shoal-overlap-collectives | FileCheck %s
// RUN: shoal-opt %s --split-input-file --shoal-overlap-collectives --shoal-plan-memory="background" \
// RUN:   --shoal-insert-waits | FileCheck %s --check-prefix=WAITS

// As in a layer of experts: tokens travel while the gate of the next ones and a
// shared expert are computed; what the first exchange needs comes first.
// CHECK-LABEL: func.func @shared_expert
// CHECK: rt.cumulative
// CHECK: rt.all_to_all{{.*}}collective = 0
// CHECK: rt.einsum {{.*}} ins(%arg0, %arg2
// CHECK: rt.einsum {{.*}} ins(%[[RECEIVED:.*]], %arg1
// CHECK: rt.all_to_all{{.*}}collective = 1
// WAITS-LABEL: func.func @shared_expert
// WAITS: rt.all_to_all{{.*}}collective = 0
// WAITS: rt.einsum {{.*}} ins(%arg0, %arg2
// WAITS: rt.wait 0
// WAITS-NEXT: rt.einsum
shoal.mesh @mesh = <["x" = 16]>
func.func @shared_expert(%x: memref<512x512xf32>, %expert: memref<32x32xf32>, %shared: memref<512x512xf32>,
                         %y: memref<512x512xf32>, %z: memref<512x512xf32>) {
  %sent = memref.alloc() : memref<512x512xf32>
  %received = memref.alloc() : memref<8192x32xf32>
  %outputs = memref.alloc() : memref<8192x32xf32>
  rt.cumulative sum dim 0 ins(%x : memref<512x512xf32>) outs(%sent : memref<512x512xf32>)
  rt.all_to_all @mesh [{"x"} : 0 -> 1] ins(%sent : memref<512x512xf32>) outs(%received : memref<8192x32xf32>) {collective = 0 : i64}
  rt.einsum "ac,cb->ab" ins(%received, %expert : memref<8192x32xf32>, memref<32x32xf32>)
    outs(%outputs : memref<8192x32xf32>)
  rt.all_to_all @mesh [{"x"} : 1 -> 0] ins(%outputs : memref<8192x32xf32>) outs(%y : memref<512x512xf32>) {collective = 1 : i64}
  rt.einsum "ac,cb->ab" ins(%x, %shared : memref<512x512xf32>, memref<512x512xf32>)
    outs(%z : memref<512x512xf32>)
  return
}

// -----

// As much as fills the collective's time, the rest beside the next one.
// CHECK-LABEL: func.func @two_of_two
// CHECK: collective = 0
// CHECK: linalg.exp ins(%arg1
// CHECK: linalg.exp ins(%[[FIRST:.*]] : memref<4096xf32>)
// CHECK: collective = 1
// CHECK: linalg.exp ins(%arg2
// CHECK: linalg.exp
// CHECK: return
shoal.mesh @mesh = <["x" = 16]>
func.func @two_of_two(%x: memref<4096xf32>, %a: memref<16777216xf32>, %b: memref<16777216xf32>,
                      %aa: memref<16777216xf32>, %bb: memref<16777216xf32>, %y: memref<4096xf32>) {
  %0 = memref.alloc() : memref<4096xf32>
  %1 = memref.alloc() : memref<4096xf32>
  %2 = memref.alloc() : memref<4096xf32>
  rt.all_reduce sum @mesh {"x"} ins(%x : memref<4096xf32>) outs(%0 : memref<4096xf32>) {collective = 0 : i64}
  linalg.exp ins(%0 : memref<4096xf32>) outs(%1 : memref<4096xf32>)
  rt.all_reduce sum @mesh {"x"} ins(%1 : memref<4096xf32>) outs(%2 : memref<4096xf32>) {collective = 1 : i64}
  linalg.exp ins(%2 : memref<4096xf32>) outs(%y : memref<4096xf32>)
  linalg.exp ins(%a : memref<16777216xf32>) outs(%aa : memref<16777216xf32>)
  linalg.exp ins(%b : memref<16777216xf32>) outs(%bb : memref<16777216xf32>)
  return
}

// -----

// What writes there, or reads what is written, stays behind.
// CHECK-LABEL: func.func @same_memory
// CHECK: collective = 0
// CHECK-NEXT: linalg.exp ins(%arg2 : memref<4096xf32>) outs(%arg0
// CHECK-NEXT: linalg.exp ins(%arg0 : memref<4096xf32>) outs(%arg3
// CHECK-NEXT: return
shoal.mesh @mesh = <["x" = 16]>
func.func @same_memory(%x: memref<4096xf32>, %sum: memref<4096xf32>, %y: memref<4096xf32>, %z: memref<4096xf32>) {
  rt.all_reduce sum @mesh {"x"} ins(%x : memref<4096xf32>) outs(%sum : memref<4096xf32>) {collective = 0 : i64}
  linalg.exp ins(%y : memref<4096xf32>) outs(%x : memref<4096xf32>)
  linalg.exp ins(%x : memref<4096xf32>) outs(%z : memref<4096xf32>)
  return
}

// -----

// The arena does not grow: %big would be live beside %all.
// CHECK-LABEL: func.func @no_more_memory
// CHECK: collective = 0
// CHECK-NEXT: linalg.reduce
// CHECK: linalg.exp ins(%arg1
shoal.mesh @mesh = <["x" = 16]>
func.func @no_more_memory(%x: memref<1x4096xf32>, %z: memref<65536xf32>, %y: memref<4096xf32>, %w: memref<f32>,
                          %v: memref<f32>) {
  %all = memref.alloc() : memref<16x4096xf32>
  %big = memref.alloc() : memref<65536xf32>
  rt.all_gather @mesh [{"x"}, {}] ins(%x : memref<1x4096xf32>) outs(%all : memref<16x4096xf32>) {collective = 0 : i64}
  linalg.reduce { arith.addf } ins(%all : memref<16x4096xf32>) outs(%y : memref<4096xf32>) dimensions = [0]
  linalg.exp ins(%z : memref<65536xf32>) outs(%big : memref<65536xf32>)
  linalg.reduce { arith.addf } ins(%big : memref<65536xf32>) outs(%w : memref<f32>) dimensions = [0]
  return
}

// -----

// Nothing crosses a loop; within it the same holds.
// CHECK-LABEL: func.func @loop
// CHECK: collective = 0
// CHECK-NEXT: linalg.exp ins(%arg1
// CHECK: scf.for
// CHECK: collective = 1
// CHECK-NEXT: linalg.exp ins(%arg2
// CHECK-NEXT: linalg.exp ins(%arg1
// CHECK: linalg.exp ins(%arg3
shoal.mesh @mesh = <["x" = 16]>
func.func @loop(%x: memref<4096xf32>, %y: memref<4096xf32>, %z: memref<4096xf32>, %w: memref<4096xf32>,
                %v: memref<4096xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  rt.all_reduce sum @mesh {"x"} ins(%x : memref<4096xf32>) outs(%y : memref<4096xf32>) {collective = 0 : i64}
  linalg.exp ins(%y : memref<4096xf32>) outs(%z : memref<4096xf32>)
  scf.for %i = %c0 to %n step %c1 {
    rt.all_reduce sum @mesh {"x"} ins(%x : memref<4096xf32>) outs(%y : memref<4096xf32>) {collective = 1 : i64}
    linalg.exp ins(%y : memref<4096xf32>) outs(%v : memref<4096xf32>)
    linalg.exp ins(%z : memref<4096xf32>) outs(%w : memref<4096xf32>)
  }
  linalg.exp ins(%w : memref<4096xf32>) outs(%v : memref<4096xf32>)
  return
}

// -----

// A body that reads through indices what a collective brings waits for it, too.
// CHECK-LABEL: func.func @read_through_indices
// CHECK: collective = 0
// CHECK-NEXT: linalg.exp ins(%arg3
// CHECK: linalg.generic
shoal.mesh @mesh = <["x" = 16]>
func.func @read_through_indices(%x: memref<4096xf32>, %y: memref<4096xf32>, %places: memref<4096xi32>, %z: memref<4096xf32>,
                                %v: memref<4096xf32>, %w: memref<4096xf32>) {
  rt.all_reduce sum @mesh {"x"} ins(%x : memref<4096xf32>) outs(%y : memref<4096xf32>) {collective = 0 : i64}
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%places : memref<4096xi32>) outs(%v : memref<4096xf32>) {
  ^bb0(%place: i32, %out: f32):
    %at = arith.index_cast %place : i32 to index
    %0 = memref.load %y[%at] : memref<4096xf32>
    linalg.yield %0 : f32
  }
  linalg.exp ins(%z : memref<4096xf32>) outs(%w : memref<4096xf32>)
  return
}

// -----

// What is not a buffer may be anything: nothing moves across it.
// CHECK-LABEL: func.func @pointers
// CHECK: llvm.load
// CHECK: memref.store
// WAITS-LABEL: func.func @pointers
func.func @pointers(%x: memref<8xi32>, %pointer: !llvm.ptr) {
  %c0 = arith.constant 0 : index
  %0 = llvm.load %pointer : !llvm.ptr -> i32
  memref.store %0, %x[%c0] : memref<8xi32>
  return
}

// -----

// Two chains of exchanges that are independent, one written behind the other,
// as of two micro-batches, go on in turns: both send before one of them reads
// what it got. There is memory for that where it is allowed.
// RUN: shoal-opt %s --split-input-file --shoal-overlap-collectives="memory=4" | FileCheck %s --check-prefix=HALVES
// HALVES-LABEL: func.func @halves
// HALVES: linalg.exp ins(%arg0
// HALVES: collective = 0
// HALVES: linalg.exp ins(%arg1
// HALVES: collective = 2
// HALVES: linalg.exp
// HALVES: collective = 1
// HALVES: linalg.exp
// HALVES: collective = 3
shoal.mesh @mesh = <["x" = 16]>
func.func @halves(%a: memref<16777216xf32>, %b: memref<16777216xf32>, %aa: memref<16777216xf32>, %bb: memref<16777216xf32>) {
  %a0 = memref.alloc() : memref<16777216xf32>
  %a1 = memref.alloc() : memref<16777216xf32>
  %a2 = memref.alloc() : memref<16777216xf32>
  linalg.exp ins(%a : memref<16777216xf32>) outs(%a0 : memref<16777216xf32>)
  rt.all_reduce sum @mesh {"x"} ins(%a0 : memref<16777216xf32>) outs(%a1 : memref<16777216xf32>) {collective = 0 : i64}
  linalg.exp ins(%a1 : memref<16777216xf32>) outs(%a2 : memref<16777216xf32>)
  rt.all_reduce sum @mesh {"x"} ins(%a2 : memref<16777216xf32>) outs(%aa : memref<16777216xf32>) {collective = 1 : i64}
  %b0 = memref.alloc() : memref<16777216xf32>
  %b1 = memref.alloc() : memref<16777216xf32>
  %b2 = memref.alloc() : memref<16777216xf32>
  linalg.exp ins(%b : memref<16777216xf32>) outs(%b0 : memref<16777216xf32>)
  rt.all_reduce sum @mesh {"x"} ins(%b0 : memref<16777216xf32>) outs(%b1 : memref<16777216xf32>) {collective = 2 : i64}
  linalg.exp ins(%b1 : memref<16777216xf32>) outs(%b2 : memref<16777216xf32>)
  rt.all_reduce sum @mesh {"x"} ins(%b2 : memref<16777216xf32>) outs(%bb : memref<16777216xf32>) {collective = 3 : i64}
  return
}

// -----

// A function of the user's says what it touches, as all calls do: what needs
// nothing of it comes before it.
// CHECK-LABEL: func.func @own_function
// CHECK: collective = 0
// CHECK-NEXT: linalg.exp ins(%arg1
// CHECK-NEXT: rt.custom_call
shoal.mesh @mesh = <["x" = 16]>
func.func @own_function(%x: memref<4096xf32>, %z: memref<4096xf32>, %y: memref<4096xf32>, %w: memref<4096xf32>,
                        %v: memref<4096xf32>) {
  rt.all_reduce sum @mesh {"x"} ins(%x : memref<4096xf32>) outs(%y : memref<4096xf32>) {collective = 0 : i64}
  rt.custom_call "scale" ins(%y : memref<4096xf32>) outs(%v : memref<4096xf32>)
  linalg.exp ins(%z : memref<4096xf32>) outs(%w : memref<4096xf32>)
  return
}
