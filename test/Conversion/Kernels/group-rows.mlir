// Which ops become one kernel on a CPU.
//
// RUN: shoal-opt %s --shoal-group-rows --split-input-file | FileCheck %s

#id = affine_map<(r, c) -> (r, c)>
#rows = affine_map<(r, c) -> (r)>

// What shares the rows of %x: what stands between and has other memory stays in front.
// CHECK-LABEL: func.func @normalized
// CHECK-NEXT: linalg.exp ins(%arg3
// CHECK-NEXT: rt.kernel {
// CHECK-NEXT: linalg.generic {{.*}}"reduction"]}
// CHECK: linalg.generic {{.*}}["parallel", "parallel"]}
// CHECK: }
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @normalized(%x: memref<4096x1024xf32>, %m: memref<4096xf32>, %y: memref<4096x1024xf32>, %z: memref<8xf32>) {
  linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<4096x1024xf32>) outs(%m : memref<4096xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  linalg.exp ins(%z : memref<8xf32>) outs(%z : memref<8xf32>)
  linalg.generic {indexing_maps = [#id, #rows, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : memref<4096x1024xf32>, memref<4096xf32>) outs(%y : memref<4096x1024xf32>) {
  ^bb0(%in: f32, %sum: f32, %out: f32):
    %0 = arith.divf %in, %sum : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#id = affine_map<(r, c) -> (r, c)>
#rows = affine_map<(r, c) -> (r)>

// In the caches anyway.
// CHECK-LABEL: func.func @small
// CHECK-NOT: rt.kernel
func.func @small(%x: memref<64x1024xf32>, %m: memref<64xf32>, %y: memref<64x1024xf32>) {
  linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<64x1024xf32>) outs(%m : memref<64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  linalg.exp ins(%x : memref<64x1024xf32>) outs(%y : memref<64x1024xf32>)
  return
}

// -----

#id = affine_map<(r, c) -> (r, c)>
#rows = affine_map<(r, c) -> (r)>

// The second op writes where other rows of the first one's operand are: the memory of both overlaps.
// CHECK-LABEL: func.func @overlapping
// CHECK-NOT: rt.kernel
func.func @overlapping(%arena: memref<33554432xi8>, %m: memref<4096xf32>) {
  %c0 = arith.constant 0 : index
  %c4096 = arith.constant 4096 : index
  %x = memref.view %arena[%c4096][] : memref<33554432xi8> to memref<4096x1024xf32>
  %y = memref.view %arena[%c0][] : memref<33554432xi8> to memref<4096x1024xf32>
  linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<4096x1024xf32>) outs(%m : memref<4096xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#rows, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m : memref<4096xf32>) outs(%y : memref<4096x1024xf32>) {
  ^bb0(%sum: f32, %out: f32):
    linalg.yield %sum : f32
  }
  return
}

// -----

#id = affine_map<(r, c) -> (r, c)>
#columns = affine_map<(r, c) -> (c)>

// A sum over rows needs all of them, and what reads it, too.
// CHECK-LABEL: func.func @sum_over_rows
// CHECK-NOT: rt.kernel
func.func @sum_over_rows(%x: memref<4096x1024xf32>, %m: memref<1024xf32>, %y: memref<4096x1024xf32>) {
  linalg.generic {indexing_maps = [#id, #columns], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<4096x1024xf32>) outs(%m : memref<1024xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id, #columns, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : memref<4096x1024xf32>, memref<1024xf32>) outs(%y : memref<4096x1024xf32>) {
  ^bb0(%in: f32, %sum: f32, %out: f32):
    %0 = arith.divf %in, %sum : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#id = affine_map<(r, c) -> (r, c)>
#across = affine_map<(r, c) -> (c, r)>
#rows = affine_map<(r, c) -> (r)>

// What reads across rows wants squares; what writes a row that another op reads by another loop, all of them.
// CHECK-LABEL: func.func @transposed
// CHECK-NOT: rt.kernel
func.func @transposed(%x: memref<2048x2048xf32>, %m: memref<2048xf32>, %y: memref<2048x2048xf32>) {
  linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<2048x2048xf32>) outs(%m : memref<2048xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#across, #rows, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : memref<2048x2048xf32>, memref<2048xf32>) outs(%y : memref<2048x2048xf32>) {
  ^bb0(%in: f32, %sum: f32, %out: f32):
    %0 = arith.divf %in, %sum : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#rows = affine_map<(r, c) -> (r)>

// Sums of a row are read by places, and not in the row that wrote them.
// CHECK-LABEL: func.func @read_by_place
// CHECK-NOT: rt.kernel
func.func @read_by_place(%x: memref<4096x1024xf32>, %at: memref<4096xi32>, %y: memref<4096x1024xf32>, %z: memref<4096x1024xf32>) {
  linalg.exp ins(%x : memref<4096x1024xf32>) outs(%y : memref<4096x1024xf32>)
  linalg.generic {indexing_maps = [#rows, affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]}
      ins(%at : memref<4096xi32>) outs(%z : memref<4096x1024xf32>) {
  ^bb0(%number: i32, %out: f32):
    %row = arith.index_cast %number : i32 to index
    %c = linalg.index 1 : index
    %0 = memref.load %y[%row, %c] : memref<4096x1024xf32>
    linalg.yield %0 : f32
  }
  return
}

// -----

#id = affine_map<(r, c) -> (r, c)>
#back = affine_map<(r, c) -> (4095 - r, c)>

// Rows from the last to the first.
// CHECK-LABEL: func.func @backwards
// CHECK-NOT: rt.kernel
func.func @backwards(%x: memref<4096x1024xf32>, %y: memref<4096x1024xf32>, %z: memref<4096x1024xf32>) {
  linalg.exp ins(%x : memref<4096x1024xf32>) outs(%y : memref<4096x1024xf32>)
  linalg.generic {indexing_maps = [#back, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<4096x1024xf32>) outs(%z : memref<4096x1024xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  return
}
