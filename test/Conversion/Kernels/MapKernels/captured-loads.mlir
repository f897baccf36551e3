// What a body reads through indices, from buffers that are no operands.
//
// RUN: shoal-opt %s --shoal-map-kernels --split-input-file | FileCheck %s

#row = affine_map<(d0, d1) -> (d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>

// Rows of 16 bytes and more: the place is computed once for all elements of a
// thread, in 32 bits, and they are one load. All of the buffer is declared.
// CHECK: rt.launch 0 grid [2, 1, 1] block [256, 1, 1] touches [#rt.touch<read 128 from 0>, #rt.touch<read 10240 from 0>, #rt.touch<write 8192 from 0>]
// CHECK-SAME: ins(%arg1, %arg0 :
// CHECK: gpu.func @rows(%[[STARTS:.*]]: memref<32xi32>, %[[X:.*]]: memref<5120xbf16> {llvm.readonly}, %[[Y:.*]]: memref<4096xbf16>)
// CHECK-SAME: shoal.schedule = "map vector=8 block=256x1 blocks=2"
// CHECK: %[[COLUMN:.*]] = arith.muli %{{.*}}, %c8_i32 {{.*}} : i32
// CHECK: %[[START:.*]] = memref.load %[[STARTS]]
// CHECK: %[[CLAMPED:.*]] = arith.maxsi %[[START]], %c0_i32
// CHECK: %[[WIDE:.*]] = arith.index_cast %[[CLAMPED]] : i32 to index
// CHECK: %[[ROW:.*]] = arith.index_cast %[[WIDE]] : index to i32
// CHECK: %[[BEGIN:.*]] = arith.muli %[[ROW]], %c128_i32 overflow<nsw> : i32
// CHECK: %[[SUM:.*]] = arith.addi %[[COLUMN]], %[[BEGIN]] overflow<nsw> : i32
// CHECK: %[[PLACE:.*]] = arith.index_cast %[[SUM]]
// CHECK-NEXT: vector.load %[[X]][%[[PLACE]]] {alignment = 16 : i64} : memref<5120xbf16>, vector<8xbf16>
// CHECK-NOT: memref.load
// CHECK-NOT: arith.maxsi
// CHECK: vector.store {{.*}}, %[[Y]]
func.func @main(%x: memref<5120xbf16>, %starts: memref<32xi32>, %y: memref<32x128xbf16>) {
  call @rows(%starts, %x, %y) : (memref<32xi32>, memref<5120xbf16>, memref<32x128xbf16>) -> ()
  return
}
func.func private @rows(%starts: memref<32xi32>, %x: memref<5120xbf16> {llvm.readonly}, %y: memref<32x128xbf16>) {
  %zero = arith.constant 0 : i32
  %c128 = arith.constant 128 : index
  linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%starts : memref<32xi32>) outs(%y : memref<32x128xbf16>) {
  ^bb0(%start: i32, %out: bf16):
    %clamped = arith.maxsi %start, %zero : i32
    %row = arith.index_cast %clamped : i32 to index
    %begin = arith.muli %row, %c128 : index
    %column = linalg.index 1 : index
    %place = arith.addi %begin, %column : index
    %0 = memref.load %x[%place] : memref<5120xbf16>
    linalg.yield %0 : bf16
  }
  return
}

// -----

#row = affine_map<(d0, d1) -> (d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>

// Rows of 12 bytes, in a buffer of two dimensions: 4 bytes are one access.
// CHECK: gpu.func @odd(%{{.*}}: memref<32xi32>, %[[X:.*]]: memref<123xf32>
// CHECK-SAME: shoal.schedule = "map block=96x1 blocks=1"
// CHECK: arith.muli %{{.*}}, %c3_i32
// CHECK: memref.load %[[X]]
func.func private @odd(%starts: memref<32xi32>, %x: memref<41x3xf32>, %y: memref<32x3xf32>) {
  linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%starts : memref<32xi32>) outs(%y : memref<32x3xf32>) {
  ^bb0(%start: i32, %out: f32):
    %row = arith.index_cast %start : i32 to index
    %column = linalg.index 1 : index
    %0 = memref.load %x[%row, %column] : memref<41x3xf32>
    linalg.yield %0 : f32
  }
  return
}

// -----

#id = affine_map<(d0) -> (d0)>

// Single elements: each has a place of its own, what surrounds them is wide.
// Bools are bytes.
// CHECK: gpu.func @elements(%[[STARTS:.*]]: memref<64xi32>, %[[X:.*]]: memref<99xi8>, %[[Y:.*]]: memref<64xi8>)
// CHECK-SAME: shoal.schedule = "map vector=4 block=32x1 blocks=1"
// CHECK: vector.load %[[STARTS]]{{.*}} vector<4xi32>
// CHECK-COUNT-4: memref.load %[[X]]
// CHECK-NOT: memref.load
// CHECK: vector.store {{.*}}, %[[Y]]{{.*}} vector<4xi8>
func.func private @elements(%starts: memref<64xi32>, %x: memref<99xi1>, %y: memref<64xi1>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%starts : memref<64xi32>) outs(%y : memref<64xi1>) {
  ^bb0(%start: i32, %out: i1):
    %place = arith.index_cast %start : i32 to index
    %0 = memref.load %x[%place] : memref<99xi1>
    linalg.yield %0 : i1
  }
  return
}

// -----

#row = affine_map<(d0, d1) -> (d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>

// A buffer whose last element has no number of 32 bits.
// CHECK: rt.launch {{.*}}, #rt.touch<read 12884901888 from 0>, #rt.touch<write 4096 from 0>]
// CHECK: gpu.func @large
// CHECK-SAME: vector=4 {{.*}} int64"
// CHECK: arith.muli %{{.*}}, %c128_i64 overflow<nsw> : i64
func.func @main(%x: memref<25165824x128xf32>, %starts: memref<8xi64>, %y: memref<8x128xf32>) {
  call @large(%starts, %x, %y) : (memref<8xi64>, memref<25165824x128xf32>, memref<8x128xf32>) -> ()
  return
}
func.func private @large(%starts: memref<8xi64>, %x: memref<25165824x128xf32>, %y: memref<8x128xf32>) {
  linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%starts : memref<8xi64>) outs(%y : memref<8x128xf32>) {
  ^bb0(%start: i64, %out: f32):
    %row = arith.index_cast %start : i64 to index
    %column = linalg.index 1 : index
    %0 = memref.load %x[%row, %column] : memref<25165824x128xf32>
    linalg.yield %0 : f32
  }
  return
}

// -----

#row = affine_map<(d0, d1) -> (d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>

// A reduction along rows loads 16 bytes a time, too. Loops that the address
// does not run through as one stay two.
// CHECK: gpu.func @sums
// CHECK-SAME: shoal.schedule = "row_reduction vector=4 lanes=32
// CHECK: vector.load %{{.*}} {alignment = 16 : i64} : memref<655360xf32>, vector<4xf32>
func.func private @sums(%starts: memref<512xi32>, %x: memref<655360xf32>, %y: memref<512x128xf32>, %sums: memref<512xf32>) {
  %c128 = arith.constant 128 : index
  linalg.generic {indexing_maps = [#row, #id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%starts, %y : memref<512xi32>, memref<512x128xf32>) outs(%sums : memref<512xf32>) {
  ^bb0(%start: i32, %in: f32, %sum: f32):
    %row = arith.index_cast %start : i32 to index
    %begin = arith.muli %row, %c128 : index
    %column = linalg.index 1 : index
    %place = arith.addi %begin, %column : index
    %0 = memref.load %x[%place] : memref<655360xf32>
    %1 = arith.mulf %0, %in : f32
    %2 = arith.addf %sum, %1 : f32
    linalg.yield %2 : f32
  }
  return
}
