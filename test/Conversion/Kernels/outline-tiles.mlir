// RUN: shoal-opt %s --shoal-outline-tiles | FileCheck %s

// CHECK-LABEL: func.func private @fill(
// CHECK-SAME: %[[X:.*]]: memref<4x1024xf32> {llvm.noalias})
// CHECK: %[[BEGIN:.*]] = arith.constant 0 : index
// CHECK: %[[END:.*]] = arith.constant 8 : index
// CHECK: call @fill_tiles(%[[BEGIN]], %[[END]], %[[X]])
// CHECK-NEXT: return
// Tile t is row t / 2 and half t mod 2.
// CHECK: func.func private @fill_tiles(%[[BEGIN:.*]]: index, %[[END:.*]]: index, %[[X:.*]]: memref<4x1024xf32> {llvm.noalias}) attributes {shoal.tile_bytes = 2048 : i64}
// CHECK: scf.for %[[T:.*]] = %[[BEGIN]] to %[[END]]
// CHECK: %[[HALF:.*]] = arith.remui %[[T]], %[[TWO:.*]] :
// CHECK: %[[ROW:.*]] = arith.divui %[[T]], %[[TWO]] :
// CHECK: %[[OFFSET:.*]] = arith.muli %[[HALF]], %c512
// CHECK: memref.store
// CHECK-NOT: scf.parallel
func.func private @fill(%x: memref<4x1024xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c512 = arith.constant 512 : index
  %c1024 = arith.constant 1024 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i, %j) = (%c0, %c0) to (%c4, %c1024) step (%c1, %c512) {
    memref.store %zero, %x[%i, %j] : memref<4x1024xf32>
    scf.reduce
  } {shoal.tile_bytes = 2048 : i64}
  return
}

// What is done beside the tiles would be done for each range.
// CHECK-LABEL: func.func private @writes_beside(
// CHECK: scf.parallel
func.func private @writes_beside(%x: memref<1024xf32>, %y: memref<1024xf32>) {
  %c0 = arith.constant 0 : index
  %c512 = arith.constant 512 : index
  %c1024 = arith.constant 1024 : index
  %zero = arith.constant 0.0 : f32
  memref.store %zero, %y[%c0] : memref<1024xf32>
  scf.parallel (%i) = (%c0) to (%c1024) step (%c512) {
    memref.store %zero, %x[%i] : memref<1024xf32>
    scf.reduce
  } {shoal.tile_bytes = 2048 : i64}
  return
}

// Loops that nobody has found worth sharing.
// CHECK-LABEL: func.func private @other_loops(
// CHECK: scf.parallel
// CHECK-NOT: _tiles
func.func private @other_loops(%x: memref<1024xf32>) {
  %c0 = arith.constant 0 : index
  %c512 = arith.constant 512 : index
  %c1024 = arith.constant 1024 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%c1024) step (%c512) {
    memref.store %zero, %x[%i] : memref<1024xf32>
    scf.reduce
  }
  return
}
