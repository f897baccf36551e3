// RUN: shoal-opt %s --shoal-place-rows --split-input-file | FileCheck %s

// A row's readers read it where it lies, those behind a reshape too.
// CHECK-LABEL: @read
// CHECK-SAME: (%[[X:.+]]: memref<8x4x16xf32>, %[[I:.+]]: memref<1xi32>
// CHECK-NOT: memref.alloc
// CHECK: %[[START:.+]] = memref.load %[[I]][%{{.+}}]
// CHECK: %[[CLAMPED:.+]] = arith.minsi %{{.+}}, %c7_i32
// CHECK: %[[ROW:.+]] = arith.index_cast %[[CLAMPED]]
// CHECK: %[[FIRST:.+]] = arith.muli %[[ROW]], %c64
// CHECK: %[[ROWS:.+]] = rt.rows %[[X]][%[[FIRST]]] : memref<8x4x16xf32> to memref<1x4x16xf32>
// CHECK-NOT: rt.gather
// CHECK: memref.collapse_shape %[[ROWS]]
func.func @read(%x: memref<8x4x16xf32>, %i: memref<1xi32>, %y: memref<4x16xf32> {shoal.result}) {
  %0 = memref.alloc() : memref<1x4x16xf32>
  rt.gather <[8 by 1 step 64 at 0, 4 by 4 step 16, 16 by 16 step 1]>
      ins(%x, %i : memref<8x4x16xf32>, memref<1xi32>) outs(%0 : memref<1x4x16xf32>)
  %1 = memref.collapse_shape %0 [[0, 1], [2]] : memref<1x4x16xf32> into memref<4x16xf32>
  linalg.exp ins(%1 : memref<4x16xf32>) outs(%y : memref<4x16xf32>)
  return
}

// -----

// Two components; indices of 8 bits, which reach no further than -128 to 127,
// are below 199.
// CHECK-LABEL: @two_components
// CHECK: arith.minsi %{{.+}}, %c2_i8
// CHECK-NOT: arith.minsi
// CHECK: %[[FIRST:.+]] = arith.addi
// CHECK: rt.rows %{{.+}}[%[[FIRST]]] : memref<200x3x16xf32> to memref<1x1x16xf32>
func.func @two_components(%x: memref<200x3x16xf32>, %i: memref<2xi8>, %y: memref<1x1x16xf32> {shoal.result}) {
  %0 = memref.alloc() : memref<1x1x16xf32>
  rt.gather <[200 by 1 step 16 at 1, 3 by 1 at 0, 16 by 16 step 1]>
      ins(%x, %i : memref<200x3x16xf32>, memref<2xi8>) outs(%0 : memref<1x1x16xf32>)
  linalg.exp ins(%0 : memref<1x1x16xf32>) outs(%y : memref<1x1x16xf32>)
  return
}

// -----

// Copied: rows of 48 bytes begin anywhere; a window of columns is not dense;
// a row whose buffer is written before the row is read for the last time, and
// one that is written over.
// CHECK-LABEL: @copied
// CHECK-COUNT-4: rt.gather
// CHECK-NOT: rt.rows
func.func @copied(%x: memref<8x12xf32>, %z: memref<8x16xf32>, %i: memref<1xi32>,
                  %a: memref<1x12xf32> {shoal.result}, %b: memref<8x8xf32> {shoal.result},
                  %c: memref<1x16xf32> {shoal.result}, %d: memref<1x16xf32> {shoal.result}) {
  %0 = memref.alloc() : memref<1x12xf32>
  rt.gather <[8 by 1 step 12 at 0, 12 by 12 step 1]>
      ins(%x, %i : memref<8x12xf32>, memref<1xi32>) outs(%0 : memref<1x12xf32>)
  linalg.exp ins(%0 : memref<1x12xf32>) outs(%a : memref<1x12xf32>)
  %1 = memref.alloc() : memref<8x8xf32>
  rt.gather <[8 by 8 step 8, 16 by 8 step 1 at 0]>
      ins(%z, %i : memref<8x16xf32>, memref<1xi32>) outs(%1 : memref<8x8xf32>)
  linalg.exp ins(%1 : memref<8x8xf32>) outs(%b : memref<8x8xf32>)
  %2 = memref.alloc() : memref<1x16xf32>
  rt.gather <[8 by 1 step 16 at 0, 16 by 16 step 1]>
      ins(%z, %i : memref<8x16xf32>, memref<1xi32>) outs(%2 : memref<1x16xf32>)
  linalg.log ins(%2 : memref<1x16xf32>) outs(%2 : memref<1x16xf32>)
  linalg.exp ins(%2 : memref<1x16xf32>) outs(%c : memref<1x16xf32>)
  %3 = memref.alloc() : memref<1x16xf32>
  rt.gather <[8 by 1 step 16 at 0, 16 by 16 step 1]>
      ins(%z, %i : memref<8x16xf32>, memref<1xi32>) outs(%3 : memref<1x16xf32>)
  linalg.abs ins(%z : memref<8x16xf32>) outs(%z : memref<8x16xf32>)
  linalg.exp ins(%3 : memref<1x16xf32>) outs(%d : memref<1x16xf32>)
  return
}

// -----

// A row is made where it comes to lie; its place is read where it begins to be
// made, from what is copied into the index later.
// CHECK-LABEL: @make
// CHECK-SAME: (%[[X:.+]]: memref<16xf32>, %[[STEP:.+]]: memref<i32>, %[[Y:.+]]: memref<8x16xf32>, %[[Z:.+]]: memref<16xf32>
// CHECK: memref.load %[[STEP]][]
// CHECK: %[[ROW:.+]] = rt.rows %[[Y]][%{{.+}}] : memref<8x16xf32> to memref<16xf32>
// CHECK: linalg.exp ins(%[[X]] : memref<16xf32>) outs(%[[ROW]] : memref<16xf32>)
// CHECK-NOT: rt.scatter
// CHECK: linalg.log ins(%[[ROW]] : memref<16xf32>) outs(%[[Z]] : memref<16xf32>)
func.func @make(%x: memref<16xf32>, %step: memref<i32>, %y: memref<8x16xf32>, %z: memref<16xf32>) {
  %0 = memref.alloc() : memref<16xf32>
  %1 = memref.expand_shape %0 [[0, 1]] output_shape [1, 16] : memref<16xf32> into memref<1x16xf32>
  linalg.exp ins(%x : memref<16xf32>) outs(%0 : memref<16xf32>)
  %i = memref.alloc() : memref<1xi32>
  %2 = memref.subview %i[0] [1] [1] : memref<1xi32> to memref<i32, strided<[]>>
  memref.copy %step, %2 : memref<i32> to memref<i32, strided<[]>>
  rt.scatter <[8 by 1 step 16 at 0, 16 by 16 step 1]>
      ins(%i, %1 : memref<1xi32>, memref<1x16xf32>) outs(%y : memref<8x16xf32>) {clamps}
  linalg.log ins(%0 : memref<16xf32>) outs(%z : memref<16xf32>)
  return
}

// -----

// Stays: the row is an input; what does not fit is dropped; the buffer is read
// between; the place is only then computed; the row is written afterwards.
// CHECK-LABEL: @stays
// CHECK-COUNT-5: rt.scatter
// CHECK-NOT: rt.rows
func.func @stays(%x: memref<1x16xf32>, %i: memref<1xi32>, %y: memref<8x16xf32>, %z: memref<8x16xf32>,
                 %step: memref<i32>) {
  rt.scatter <[8 by 1 step 16 at 0, 16 by 16 step 1]>
      ins(%i, %x : memref<1xi32>, memref<1x16xf32>) outs(%y : memref<8x16xf32>) {clamps}
  %0 = memref.alloc() : memref<1x16xf32>
  linalg.exp ins(%x : memref<1x16xf32>) outs(%0 : memref<1x16xf32>)
  rt.scatter <[8 by 1 step 16 at 0, 16 by 16 step 1]>
      ins(%i, %0 : memref<1xi32>, memref<1x16xf32>) outs(%y : memref<8x16xf32>)
  %1 = memref.alloc() : memref<1x16xf32>
  linalg.exp ins(%x : memref<1x16xf32>) outs(%1 : memref<1x16xf32>)
  linalg.exp ins(%y : memref<8x16xf32>) outs(%z : memref<8x16xf32>)
  rt.scatter <[8 by 1 step 16 at 0, 16 by 16 step 1]>
      ins(%i, %1 : memref<1xi32>, memref<1x16xf32>) outs(%y : memref<8x16xf32>) {clamps}
  %2 = memref.alloc() : memref<1x16xf32>
  linalg.exp ins(%x : memref<1x16xf32>) outs(%2 : memref<1x16xf32>)
  %c1_i32 = arith.constant 1 : i32
  linalg.fill ins(%c1_i32 : i32) outs(%i : memref<1xi32>)
  rt.scatter <[8 by 1 step 16 at 0, 16 by 16 step 1]>
      ins(%i, %2 : memref<1xi32>, memref<1x16xf32>) outs(%y : memref<8x16xf32>) {clamps}
  %3 = memref.alloc() : memref<1x16xf32>
  linalg.exp ins(%x : memref<1x16xf32>) outs(%3 : memref<1x16xf32>)
  rt.scatter <[8 by 1 step 16 at 0, 16 by 16 step 1]>
      ins(%i, %3 : memref<1xi32>, memref<1x16xf32>) outs(%y : memref<8x16xf32>) {clamps}
  linalg.log ins(%3 : memref<1x16xf32>) outs(%3 : memref<1x16xf32>)
  return
}
