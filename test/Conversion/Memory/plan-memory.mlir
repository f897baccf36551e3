// RUN: shoal-opt %s --shoal-plan-memory --split-input-file --verify-diagnostics | FileCheck %s

// Of three values each dies when the next but one is made: %2 takes the place
// of %0. 100 floats are 400 bytes, 448 in lines of 64.
// CHECK-LABEL: @dead_buffers_give_their_place
// CHECK-SAME: %[[ARENA:[a-z0-9]+]]: memref<896xi8>)
// CHECK-SAME: shoal.arena_bytes = 896
// CHECK-SAME: shoal.live_bytes = 896
// Each buffer with its offset, bytes, first and last of the four copies.
// CHECK-SAME: shoal.memory_plan = {buffers = {{\[\[}}array<i64: 0, 448, 0, 1>, memref<100xf32>], [array<i64: 448, 448, 1, 2>, {{[^]]*}}], [array<i64: 0, 448, 2, 3>, {{[^]]*}}]]
// CHECK-SAME: steps = [#loc{{[0-9]*}}, #loc{{[0-9]*}}, #loc{{[0-9]*}}, #loc{{[0-9]*}}]}
// CHECK: %[[C0:.*]] = arith.constant 0
// CHECK: memref.view %[[ARENA]][%[[C0]]]
// CHECK: %[[C1:.*]] = arith.constant 448
// CHECK: memref.view %[[ARENA]][%[[C1]]]
// CHECK: %[[C2:.*]] = arith.constant 0
// CHECK: memref.view %[[ARENA]][%[[C2]]]
func.func @dead_buffers_give_their_place(%x: memref<100xf32>, %y: memref<100xf32>) {
  %0 = memref.alloc() : memref<100xf32>
  memref.copy %x, %0 : memref<100xf32> to memref<100xf32>
  %1 = memref.alloc() : memref<100xf32>
  memref.copy %0, %1 : memref<100xf32> to memref<100xf32>
  %2 = memref.alloc() : memref<100xf32>
  memref.copy %1, %2 : memref<100xf32> to memref<100xf32>
  memref.copy %2, %y : memref<100xf32> to memref<100xf32>
  return
}

// -----

// A view keeps its buffer alive.
// CHECK-LABEL: @views_keep_buffers_alive
// CHECK-SAME: memref<128xi8>
func.func @views_keep_buffers_alive(%x: memref<4xf32>, %y: memref<2x2xf32>, %z: memref<4xf32>) {
  %0 = memref.alloc() : memref<4xf32>
  memref.copy %x, %0 : memref<4xf32> to memref<4xf32>
  %v = memref.expand_shape %0 [[0, 1]] output_shape [2, 2] : memref<4xf32> into memref<2x2xf32>
  %1 = memref.alloc() : memref<4xf32>
  memref.copy %x, %1 : memref<4xf32> to memref<4xf32>
  memref.copy %v, %y : memref<2x2xf32> to memref<2x2xf32>
  memref.copy %1, %z : memref<4xf32> to memref<4xf32>
  return
}

// -----

// Of two results of 1600 bytes, %y and %z, the first is written last. Until then %0
// has its memory, in which %y is behind %z, and %1, which needs more than what is
// left, an arena. The third result is too small to be shared.
// CHECK-LABEL: @buffers_lie_in_results_until_these_are_written
// CHECK-SAME: (%{{.+}}: memref<400xf32>, %{{[a-z0-9]+}}: memref<400xf32> {shoal.result_offset = 1600 : i64}, %{{[a-z0-9]+}}: memref<400xf32> {shoal.result_offset = 0 : i64}, %[[SMALL:[a-z0-9]+]]: memref<4xf32>, %[[RESULTS:[a-z0-9]+]]: memref<3200xi8>, %[[ARENA:[a-z0-9]+]]: memref<3200xi8>)
// CHECK-SAME: shoal.arena_bytes = 3200
// CHECK-SAME: shoal.live_bytes = 6400
// CHECK-SAME: {{\[\[}}array<i64: 1600, 1600, 3, 4>, memref<400xf32>, "results"]
// CHECK-SAME: shoal.result_bytes = 3200
// CHECK: %[[AT0:.+]] = arith.constant 0
// CHECK: %[[Z:.+]] = memref.view %[[RESULTS]][%[[AT0]]]
// CHECK: %[[AT:.+]] = arith.constant 1600
// CHECK: %[[Y:.+]] = memref.view %[[RESULTS]][%[[AT]]]
// CHECK: %[[A0:.+]] = arith.constant 1600
// CHECK: %[[V0:.+]] = memref.view %[[RESULTS]][%[[A0]]]
// CHECK: memref.copy %{{.+}}, %[[V0]]
// CHECK: %[[A1:.+]] = arith.constant 0
// CHECK: %[[V1:.+]] = memref.view %[[ARENA]][%[[A1]]]
// CHECK: memref.copy %{{.+}}, %[[SMALL]]
// CHECK: memref.copy %[[V0]], %[[Z]]
// CHECK: memref.copy %{{.+}}, %[[Y]]
func.func @buffers_lie_in_results_until_these_are_written(%x: memref<400xf32>, %y: memref<400xf32> {shoal.result}, %z: memref<400xf32> {shoal.result}, %small: memref<4xf32> {shoal.result}) {
  %0 = memref.alloc() : memref<400xf32>
  memref.copy %x, %0 : memref<400xf32> to memref<400xf32>
  %1 = memref.alloc() : memref<800xf32>
  %part = memref.subview %1[0] [400] [1] : memref<800xf32> to memref<400xf32, strided<[1]>>
  memref.copy %x, %part : memref<400xf32> to memref<400xf32, strided<[1]>>
  %few = memref.subview %1[0] [4] [1] : memref<800xf32> to memref<4xf32, strided<[1]>>
  memref.copy %few, %small : memref<4xf32, strided<[1]>> to memref<4xf32>
  memref.copy %0, %z : memref<400xf32> to memref<400xf32>
  memref.copy %part, %y : memref<400xf32, strided<[1]>> to memref<400xf32>
  return
}

// -----

// CHECK-LABEL: @empty_arguments_become_flat
// CHECK-SAME: %{{.*}}: memref<0xf32>, %{{.*}}: memref<0xi8>
func.func @empty_arguments_become_flat(%x: memref<5x0xf32>) {
  return
}

// -----

// A buffer of a loop shares memory with others of the loop when neither is read
// any more, but not with one that the loop reads in every trip.
// CHECK-LABEL: @buffers_of_loops
// CHECK-SAME: shoal.arena_bytes = 192
// CHECK: %[[A:.+]] = arith.constant 0 : index{{[[:space:]]+}}%{{.+}} = memref.view %{{.+}}[%[[A]]]
// CHECK: scf.for
// CHECK: %[[B:.+]] = arith.constant 64 : index{{[[:space:]]+}}%{{.+}} = memref.view %{{.+}}[%[[B]]]
// CHECK: %[[C:.+]] = arith.constant 128 : index{{[[:space:]]+}}%{{.+}} = memref.view %{{.+}}[%[[C]]]
// CHECK: %[[D:.+]] = arith.constant 64 : index{{[[:space:]]+}}%{{.+}} = memref.view %{{.+}}[%[[D]]]
func.func @buffers_of_loops(%n: index, %x: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc() : memref<4xf32>
  memref.copy %x, %a : memref<4xf32> to memref<4xf32>
  scf.for %i = %c0 to %n step %c1 {
    %b = memref.alloc() : memref<4xf32>
    memref.copy %a, %b : memref<4xf32> to memref<4xf32>
    %c = memref.alloc() : memref<4xf32>
    memref.copy %b, %c : memref<4xf32> to memref<4xf32>
    %d = memref.alloc() : memref<4xf32>
    memref.copy %c, %d : memref<4xf32> to memref<4xf32>
    memref.copy %d, %x : memref<4xf32> to memref<4xf32>
  }
  return
}

// -----

func.func @buffer_of_the_next_trip(%n: index, %x: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%b = %x) -> memref<4xf32> {
    // expected-error @+1 {{cannot be placed in the arena}}
    %0 = memref.alloc() : memref<4xf32>
    memref.copy %b, %0 : memref<4xf32> to memref<4xf32>
    scf.yield %0 : memref<4xf32>
  }
  memref.copy %r, %x : memref<4xf32> to memref<4xf32>
  return
}

// -----

// What is joined is made where it comes to lie: 128 bytes, not 256, and only the
// copy to the argument is left. Row 1 is live from the first op on, row 0 from the
// second.
// CHECK-LABEL: @parts_are_made_in_place
// CHECK-SAME: shoal.arena_bytes = 128
// CHECK-SAME: shoal.memory_plan = {buffers = {{\[\[}}array<i64: 0, 64, 1, 2>, memref<16xf32>], [array<i64: 64, 64, 0, 2>, memref<16xf32>]]
// CHECK: %[[A:.+]] = arith.constant 64 : index{{[[:space:]]+}}%[[LOW:.+]] = memref.view %{{.+}}[%[[A]]]
// CHECK: linalg.exp {{.*}} outs(%[[LOW]]
// CHECK: %[[B:.+]] = arith.constant 0 : index{{[[:space:]]+}}%[[HIGH:.+]] = memref.view %{{.+}}[%[[B]]]
// CHECK: linalg.abs {{.*}} outs(%[[HIGH]]
// CHECK-NOT: memref.copy
// CHECK: memref.copy %{{.+}}, %{{.+}} : memref<2x16xf32> to memref<2x16xf32>
// CHECK-NOT: memref.copy
func.func @parts_are_made_in_place(%x: memref<16xf32>, %y: memref<2x16xf32>) {
  %a = memref.alloc() : memref<16xf32>
  linalg.exp ins(%x : memref<16xf32>) outs(%a : memref<16xf32>)
  %b = memref.alloc() : memref<16xf32>
  linalg.abs ins(%x : memref<16xf32>) outs(%b : memref<16xf32>)
  %joined = memref.alloc() : memref<2x16xf32>
  %low = memref.subview %joined[1, 0] [1, 16] [1, 1] : memref<2x16xf32> to memref<16xf32, strided<[1], offset: 16>>
  memref.copy %a, %low : memref<16xf32> to memref<16xf32, strided<[1], offset: 16>>
  %high = memref.subview %joined[0, 0] [1, 16] [1, 1] : memref<2x16xf32> to memref<16xf32, strided<[1]>>
  memref.copy %b, %high : memref<16xf32> to memref<16xf32, strided<[1]>>
  memref.copy %joined, %y : memref<2x16xf32> to memref<2x16xf32>
  return
}

// -----

// Not where the place is written, or the part is read, in between or behind; columns are not dense.
// CHECK-LABEL: @parts_that_others_touch
// CHECK-COUNT-5: memref.copy
func.func @parts_that_others_touch(%x: memref<16xf32>, %c: f32, %y: memref<3x16xf32>, %z: memref<16x2xf32>) {
  %joined = memref.alloc() : memref<3x16xf32>
  %columns = memref.alloc() : memref<16x2xf32>
  %a = memref.alloc() : memref<16xf32>
  linalg.exp ins(%x : memref<16xf32>) outs(%a : memref<16xf32>)
  linalg.fill ins(%c : f32) outs(%joined : memref<3x16xf32>)
  %0 = memref.subview %joined[0, 0] [1, 16] [1, 1] : memref<3x16xf32> to memref<16xf32, strided<[1]>>
  memref.copy %a, %0 : memref<16xf32> to memref<16xf32, strided<[1]>>
  %b = memref.alloc() : memref<16xf32>
  linalg.abs ins(%x : memref<16xf32>) outs(%b : memref<16xf32>)
  %1 = memref.subview %joined[1, 0] [1, 16] [1, 1] : memref<3x16xf32> to memref<16xf32, strided<[1], offset: 16>>
  memref.copy %b, %1 : memref<16xf32> to memref<16xf32, strided<[1], offset: 16>>
  %2 = memref.subview %columns[0, 1] [16, 1] [1, 1] : memref<16x2xf32> to memref<16xf32, strided<[2], offset: 1>>
  memref.copy %b, %2 : memref<16xf32> to memref<16xf32, strided<[2], offset: 1>>
  memref.copy %joined, %y : memref<3x16xf32> to memref<3x16xf32>
  memref.copy %columns, %z : memref<16x2xf32> to memref<16x2xf32>
  return
}

// -----

// Until the second row of %joined is made %large is there: 256 bytes, not 448.
// CHECK-LABEL: @others_lie_in_rows_that_are_not_made_yet
// CHECK-SAME: shoal.arena_bytes = 256
// CHECK-SAME: shoal.live_bytes = 256
// CHECK-SAME: array<i64: 64, 192, 0, 2>, memref<48xf32>
// CHECK-COUNT-1: memref.copy
// CHECK-NOT: memref.copy
func.func @others_lie_in_rows_that_are_not_made_yet(%x: memref<16xf32>, %c: f32, %y: memref<64xf32>, %z: memref<48xf32>) {
  %large = memref.alloc() : memref<48xf32>
  linalg.fill ins(%c : f32) outs(%large : memref<48xf32>)
  %a = memref.alloc() : memref<16xf32>
  linalg.exp ins(%x : memref<16xf32>) outs(%a : memref<16xf32>)
  linalg.abs ins(%large : memref<48xf32>) outs(%z : memref<48xf32>)
  %b = memref.alloc() : memref<48xf32>
  linalg.fill ins(%c : f32) outs(%b : memref<48xf32>)
  %joined = memref.alloc() : memref<64xf32>
  %0 = memref.subview %joined[0] [16] [1] : memref<64xf32> to memref<16xf32, strided<[1]>>
  memref.copy %a, %0 : memref<16xf32> to memref<16xf32, strided<[1]>>
  %1 = memref.subview %joined[16] [48] [1] : memref<64xf32> to memref<48xf32, strided<[1], offset: 16>>
  memref.copy %b, %1 : memref<48xf32> to memref<48xf32, strided<[1], offset: 16>>
  memref.copy %joined, %y : memref<64xf32> to memref<64xf32>
  return
}

// -----

// The same of a result: nothing lies in the arena.
// CHECK-LABEL: @others_lie_in_rows_of_results
// CHECK-SAME: shoal.result_offset = 0
// CHECK-SAME: shoal.arena_bytes = 0
// CHECK-SAME: [array<i64: 0, 1024, 1, 3>, memref<256xf32>, "results"], [array<i64: 1024, 1024, 2, 3>, memref<256xf32>, "results"], [array<i64: 1024, 1024, 0, 1>, memref<256xf32>, "results"]
// CHECK-NOT: memref.copy
func.func @others_lie_in_rows_of_results(%x: memref<256xf32>, %y: memref<512xf32> {shoal.result}) {
  %first = memref.alloc() : memref<256xf32>
  linalg.exp ins(%x : memref<256xf32>) outs(%first : memref<256xf32>)
  %a = memref.alloc() : memref<256xf32>
  linalg.abs ins(%first : memref<256xf32>) outs(%a : memref<256xf32>)
  %b = memref.alloc() : memref<256xf32>
  linalg.exp ins(%a : memref<256xf32>) outs(%b : memref<256xf32>)
  %0 = memref.subview %y[0] [256] [1] : memref<512xf32> to memref<256xf32, strided<[1]>>
  memref.copy %a, %0 : memref<256xf32> to memref<256xf32, strided<[1]>>
  %1 = memref.subview %y[256] [256] [1] : memref<512xf32> to memref<256xf32, strided<[1], offset: 256>>
  memref.copy %b, %1 : memref<256xf32> to memref<256xf32, strided<[1], offset: 256>>
  return
}

// -----

// Bytes 192 and on are written as a part of %joined before %b is made there: they are live
// from the fill on. So are those behind %a, whose 20 floats end in the line of others.
// CHECK-LABEL: @rows_that_hold_something_before
// CHECK-SAME: array<i64: 0, 128, 0, {{[0-9]+}}>, memref<20xf32>], [array<i64: 128, 64, 0, {{[0-9]+}}>, memref<64xi8>], [array<i64: 192, 64, 1, {{[0-9]+}}>, memref<16xf32>]
func.func @rows_that_hold_something_before(%x: memref<20xf32>, %v: memref<16xf32>, %c: f32, %y: memref<64xf32>, %z: memref<16xf32>) {
  %joined = memref.alloc() : memref<64xf32>
  %rest = memref.subview %joined[20] [44] [1] : memref<64xf32> to memref<44xf32, strided<[1], offset: 20>>
  linalg.fill ins(%c : f32) outs(%rest : memref<44xf32, strided<[1], offset: 20>>)
  %1 = memref.subview %joined[48] [16] [1] : memref<64xf32> to memref<16xf32, strided<[1], offset: 48>>
  memref.copy %1, %z : memref<16xf32, strided<[1], offset: 48>> to memref<16xf32>
  %a = memref.alloc() : memref<20xf32>
  linalg.exp ins(%x : memref<20xf32>) outs(%a : memref<20xf32>)
  %b = memref.alloc() : memref<16xf32>
  linalg.exp ins(%v : memref<16xf32>) outs(%b : memref<16xf32>)
  %0 = memref.subview %joined[0] [20] [1] : memref<64xf32> to memref<20xf32, strided<[1]>>
  memref.copy %a, %0 : memref<20xf32> to memref<20xf32, strided<[1]>>
  memref.copy %b, %1 : memref<16xf32> to memref<16xf32, strided<[1], offset: 48>>
  memref.copy %joined, %y : memref<64xf32> to memref<64xf32>
  return
}
