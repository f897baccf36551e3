// Work waits for a collective where it touches its buffers, and no earlier.
//
// RUN: shoal-opt %s --split-input-file --shoal-insert-waits | FileCheck %s

shoal.mesh @mesh = <["x" = 2]>

// CHECK-LABEL: func.func @main
func.func @main(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>, %arena: memref<128xi8>) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %a = memref.view %arena[%c0][] : memref<128xi8> to memref<8xf32>
  %b = memref.view %arena[%c32][] : memref<128xi8> to memref<8xf32>
  %c = memref.view %arena[%c64][] : memref<128xi8> to memref<8xf32>
  rt.all_reduce sum @mesh {"x"} ins(%x : memref<8xf32>) outs(%a : memref<8xf32>) {collective = 0 : i64}
  rt.all_gather @mesh [{}] ins(%a : memref<8xf32>) outs(%b : memref<8xf32>) {collective = 1 : i64}
  // Other bytes, and reading what is read:
  // CHECK: rt.all_gather
  // CHECK-NEXT: rt.copy {{.*}}%arg0
  // CHECK-NEXT: rt.wait 0
  // CHECK-NEXT: rt.copy {{.*}} outs(%arg0
  // CHECK-NEXT: rt.wait 1
  // CHECK-NEXT: rt.copy ins(%[[C:.*]] : memref<8xf32>) outs(%[[A:.*]] :
  rt.copy ins(%x : memref<8xf32>) outs(%c : memref<8xf32>)
  // Writes what the first reads:
  rt.copy ins(%c : memref<8xf32>) outs(%x : memref<8xf32>)
  // Writes what the second reads:
  rt.copy ins(%c : memref<8xf32>) outs(%a : memref<8xf32>)
  // CHECK-NEXT: return
  return
}

// Half of a buffer is not the other half; a window with strides is all between.
// CHECK-LABEL: func.func @parts
func.func @parts(%x: memref<2x4xf32>, %arena: memref<64xi8>) {
  %c0 = arith.constant 0 : index
  %top = memref.view %arena[%c0][] : memref<64xi8> to memref<2x4xf32>
  %y = memref.view %arena[%c0][] : memref<64xi8> to memref<4x4xf32>
  %bottom = memref.subview %y[2, 0] [2, 4] [1, 1] : memref<4x4xf32> to memref<2x4xf32, strided<[4, 1], offset: 8>>
  %column = memref.subview %y[0, 1] [4, 1] [1, 1] : memref<4x4xf32> to memref<4x1xf32, strided<[4, 1], offset: 1>>
  // CHECK: rt.all_reduce
  // CHECK-NEXT: rt.launch 1
  // CHECK-NEXT: rt.wait 0
  // CHECK-NEXT: rt.launch 2
  rt.all_reduce sum @mesh {"x"} ins(%x : memref<2x4xf32>) outs(%top : memref<2x4xf32>) {collective = 0 : i64}
  rt.launch 1 grid [1, 1, 1] block [32, 1, 1] touches [#rt.touch<write 32 from 32>]
    outs(%bottom : memref<2x4xf32, strided<[4, 1], offset: 8>>)
  rt.launch 2 grid [1, 1, 1] block [32, 1, 1] touches [#rt.touch<write 52 from 4>]
    outs(%column : memref<4x1xf32, strided<[4, 1], offset: 1>>)
  return
}

// All are waited for before what may do anything: loops, ends of blocks, what
// the host waits for.
// CHECK-LABEL: func.func @loops
func.func @loops(%x: memref<4xf32>, %y: memref<4xf32>, %more: memref<i1>) {
  // CHECK: rt.all_reduce {{.*}}collective = 0
  // CHECK-NEXT: rt.wait 0
  // CHECK-NEXT: scf.while
  rt.all_reduce sum @mesh {"x"} ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) {collective = 0 : i64}
  scf.while : () -> () {
    %go = rt.read_scalar %more : memref<i1>
    scf.condition(%go)
  } do {
    // CHECK: rt.all_reduce {{.*}}collective = 1
    // CHECK-NEXT: rt.wait 1
    // CHECK-NEXT: scf.yield
    rt.all_reduce sum @mesh {"x"} ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) {collective = 1 : i64}
    scf.yield
  }
  // CHECK: rt.all_reduce {{.*}}collective = 2
  // CHECK-NEXT: rt.wait 2
  // CHECK-NEXT: return
  rt.all_reduce sum @mesh {"x"} ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) {collective = 2 : i64}
  return
}

// -----

// Of two streams: a collective waits for one of the other stream whose bytes it
// touches, and each stream is waited for at the end.
module attributes {shoal.collective_streams = array<i64: 0, 1, 1, 0>} {
  shoal.mesh @mesh = <["x" = 2, "y" = 2]>

  // CHECK-LABEL: func.func @streams
  func.func @streams(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>, %w: memref<8xf32>, %v: memref<8xf32>) {
    // CHECK: rt.all_reduce {{.*}}collective = 0
    // CHECK-NEXT: rt.all_reduce {{.*}}collective = 1
    // CHECK-NEXT: rt.wait 0
    // CHECK-NEXT: rt.all_reduce {{.*}}collective = 2
    // CHECK-NEXT: rt.all_reduce {{.*}}collective = 3
    // CHECK-NEXT: rt.wait 3
    // CHECK-NEXT: rt.wait 1
    // CHECK-NEXT: rt.copy
    // CHECK-NEXT: rt.wait 2
    // CHECK-NEXT: return
    rt.all_reduce sum @mesh {"x"} ins(%x : memref<8xf32>) outs(%y : memref<8xf32>) {collective = 0 : i64}
    rt.all_reduce sum @mesh {"y"} ins(%x : memref<8xf32>) outs(%z : memref<8xf32>) {collective = 1 : i64}
    rt.all_reduce sum @mesh {"y"} ins(%y : memref<8xf32>) outs(%w : memref<8xf32>) {collective = 2 : i64}
    rt.all_reduce sum @mesh {"x"} ins(%x : memref<8xf32>) outs(%v : memref<8xf32>) {collective = 3 : i64}
    rt.copy ins(%z : memref<8xf32>) outs(%x : memref<8xf32>)
    return
  }
}
