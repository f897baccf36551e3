// Which ops become one kernel.
//
// RUN: shoal-opt %s --shoal-fuse-rows --split-input-file | FileCheck %s

#id = affine_map<(r, c) -> (r, c)>
#rows = affine_map<(r, c) -> (r)>
#row = affine_map<(r) -> (r)>

// A softmax: the largest and the sum of each row have no memory.
// CHECK-LABEL: func.func @softmax
// CHECK-NEXT: rt.kernel {
// CHECK: %[[MAX:.*]] = memref.alloca() : memref<256xf32>
// CHECK: %[[SUM:.*]] = memref.alloca() : memref<256xf32>
// CHECK: outs(%[[MAX]]
// CHECK: outs(%arg1, %[[SUM]]
// CHECK: ins(%[[SUM]]
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @softmax(%x: memref<256x1024xf32>, %y: memref<256x1024xf32>) {
  %max = memref.alloc() : memref<256xf32>
  %sum = memref.alloc() : memref<256xf32>
  linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<256x1024xf32>) outs(%max : memref<256xf32>) attrs = {shoal.initial = [0xFF800000 : f32]} {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.maximumf %out, %in : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id, #rows, #id, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%x, %max : memref<256x1024xf32>, memref<256xf32>) outs(%y, %sum : memref<256x1024xf32>, memref<256xf32>)
      attrs = {shoal.initial = [unit, 0.0 : f32]} {
  ^bb0(%in: f32, %m: f32, %out: f32, %s: f32):
    %0 = arith.subf %in, %m : f32
    %1 = math.exp %0 : f32
    %2 = arith.addf %s, %1 : f32
    linalg.yield %1, %2 : f32, f32
  }
  linalg.generic {indexing_maps = [#rows, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sum : memref<256xf32>) outs(%y : memref<256x1024xf32>) {
  ^bb0(%s: f32, %out: f32):
    %0 = arith.divf %out, %s : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#id = affine_map<(r, c) -> (r, c)>
#rows = affine_map<(r, c) -> (r)>
#row = affine_map<(r) -> (r)>

// What stands between and has other memory stays in front of the kernel; a
// buffer that is used elsewhere, too, keeps its memory.
// CHECK-LABEL: func.func @passes_others
// CHECK: %[[SUM:.*]] = memref.alloc() : memref<256xf32>
// CHECK-NEXT: linalg.exp
// CHECK-NEXT: rt.kernel {
// CHECK-NEXT: linalg.generic {{.*}} outs(%[[SUM]]
// CHECK: linalg.generic {{.*}}["parallel"]} outs(%[[SUM]]
// CHECK: }
// CHECK: linalg.log ins(%[[SUM]]
func.func @passes_others(%x: memref<256x64xf32>, %z: memref<8xf32>, %y: memref<256xf32>) {
  %sum = memref.alloc() : memref<256xf32>
  linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<256x64xf32>) outs(%sum : memref<256xf32>) attrs = {shoal.initial = [0.0 : f32]} {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  }
  linalg.exp ins(%z : memref<8xf32>) outs(%z : memref<8xf32>)
  linalg.generic {indexing_maps = [#row], iterator_types = ["parallel"]} outs(%sum : memref<256xf32>) {
  ^bb0(%out: f32):
    %0 = math.sqrt %out : f32
    linalg.yield %0 : f32
  }
  linalg.log ins(%sum : memref<256xf32>) outs(%y : memref<256xf32>)
  return
}

// -----

#id = affine_map<(r, c) -> (r, c)>
#turned = affine_map<(r, c) -> (c, r)>
#rows = affine_map<(r, c) -> (r)>
#columns = affine_map<(r, c) -> (c)>

// A row of the second reads what other rows of the first have written.
// CHECK-LABEL: func.func @other_rows
// CHECK-NOT: rt.kernel
func.func @other_rows(%x: memref<64x64xf32>, %y: memref<64x64xf32>, %sum: memref<64xf32>) {
  linalg.generic {indexing_maps = [#id, #id, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<64x64xf32>) outs(%y, %sum : memref<64x64xf32>, memref<64xf32>) attrs = {shoal.initial = [unit, 0.0 : f32]} {
  ^bb0(%in: f32, %e: f32, %out: f32):
    %0 = math.exp %in : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %0, %1 : f32, f32
  }
  linalg.generic {indexing_maps = [#turned, #columns, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y, %sum : memref<64x64xf32>, memref<64xf32>) outs(%x : memref<64x64xf32>) {
  ^bb0(%in: f32, %s: f32, %out: f32):
    %0 = arith.divf %in, %s : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#id = affine_map<(r, c) -> (r, c)>
#rows = affine_map<(r, c) -> (r)>

// A collective between them, a sum that is rounded after every step, rows of
// half a million elements, a buffer that all threads of a row read and one
// writes: no kernel.
// CHECK-LABEL: func.func @no_kernels
// CHECK-NOT: rt.kernel
shoal.mesh @mesh = <["x" = 2]>
func.func @no_kernels(%x: memref<256x1024xf32>, %b: memref<256x1024xbf16>, %l: memref<256x524288xf32>, %s: memref<256xf32>,
                      %t: memref<256xf32>, %sb: memref<256xbf16>, %sl: memref<256xf32>, %sr: memref<256xf32>) {
  linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<256x1024xf32>) outs(%s : memref<256xf32>) attrs = {shoal.initial = [0.0 : f32]} {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  }
  rt.all_reduce sum @mesh {"x"} ins(%s : memref<256xf32>) outs(%t : memref<256xf32>) {collective = 0 : i64}
  linalg.generic {indexing_maps = [#rows, #id], iterator_types = ["parallel", "parallel"]}
      ins(%t : memref<256xf32>) outs(%x : memref<256x1024xf32>) {
  ^bb0(%sum: f32, %out: f32):
    %0 = arith.divf %out, %sum : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%b : memref<256x1024xbf16>) outs(%sb : memref<256xbf16>) attrs = {shoal.initial = [0.0 : bf16]} {
  ^bb0(%in: bf16, %out: bf16):
    %0 = arith.addf %out, %in : bf16
    linalg.yield %0 : bf16
  }
  linalg.generic {indexing_maps = [#rows, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sb : memref<256xbf16>) outs(%b : memref<256x1024xbf16>) {
  ^bb0(%sum: bf16, %out: bf16):
    %0 = arith.divf %out, %sum : bf16
    linalg.yield %0 : bf16
  }
  linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%l : memref<256x524288xf32>) outs(%sl : memref<256xf32>) attrs = {shoal.initial = [0.0 : f32]} {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#rows, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sl : memref<256xf32>) outs(%l : memref<256x524288xf32>) {
  ^bb0(%sum: f32, %out: f32):
    %0 = arith.divf %out, %sum : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<256x1024xf32>) outs(%sr : memref<256xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#rows, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sr : memref<256xf32>) outs(%x : memref<256x1024xf32>) {
  ^bb0(%sum: f32, %out: f32):
    %0 = arith.divf %out, %sum : f32
    linalg.yield %0 : f32
  }
  return
}
