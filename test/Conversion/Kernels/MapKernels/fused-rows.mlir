// Several ops on the same rows in one kernel.
//
// RUN: shoal-opt %s --shoal-map-kernels --split-input-file | FileCheck %s

#id = affine_map<(r, c) -> (r, c)>
#rows = affine_map<(r, c) -> (r)>
#columns = affine_map<(r, c) -> (c)>
#row = affine_map<(r) -> (r)>

// A softmax reads each element once and writes it once. Two trips of 32 lanes
// have a vector each; all lanes get the largest, then the sum.
// CHECK: rt.launch 0 grid [128, 1, 1] block [256, 1, 1] touches [#rt.touch<read 1048576 from 0>, #rt.touch<write 1048576 from 0>]
// CHECK-LABEL: gpu.func @softmax
// CHECK-SAME: "fused_rows vector=4 lanes=32 block=256x1 blocks=128"
// CHECK-COUNT-2: vector.load %arg0
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK-NOT: vector.store
// CHECK-COUNT-8: math.exp
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK-NOT: load
// CHECK: arith.divf
// CHECK: vector.store %{{.*}}, %arg1
// CHECK: vector.store %{{.*}}, %arg1
// CHECK-NOT: store
// CHECK: gpu.return
func.func private @softmax(%x: memref<1024x256xf32> {llvm.noalias, llvm.readonly}, %y: memref<1024x256xf32> {llvm.noalias}) {
  %max = memref.alloca() : memref<1024xf32>
  %sum = memref.alloca() : memref<1024xf32>
  linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<1024x256xf32>) outs(%max : memref<1024xf32>) attrs = {shoal.initial = [0xFF800000 : f32]} {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.maximumf %out, %in : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id, #rows, #id, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%x, %max : memref<1024x256xf32>, memref<1024xf32>) outs(%y, %sum : memref<1024x256xf32>, memref<1024xf32>)
      attrs = {shoal.initial = [unit, 0.0 : f32]} {
  ^bb0(%in: f32, %m: f32, %out: f32, %s: f32):
    %0 = arith.subf %in, %m : f32
    %1 = math.exp %0 : f32
    %2 = arith.addf %s, %1 : f32
    linalg.yield %1, %2 : f32, f32
  }
  linalg.generic {indexing_maps = [#rows, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sum : memref<1024xf32>) outs(%y : memref<1024x256xf32>) {
  ^bb0(%s: f32, %out: f32):
    %0 = arith.divf %out, %s : f32
    linalg.yield %0 : f32
  }
  return
}
func.func @main(%x: memref<1024x256xf32>, %y: memref<1024x256xf32>) {
  call @softmax(%x, %y) : (memref<1024x256xf32>, memref<1024x256xf32>) -> ()
  return
}

// -----

#id = affine_map<(r, c) -> (r, c)>
#rows = affine_map<(r, c) -> (r)>
#row = affine_map<(r) -> (r)>

// Rows and columns that are no multiple of the threads: what does not exist is
// neither read nor written, and takes part in shuffles. An element a row is
// stored by its first lane.
// CHECK-LABEL: gpu.func @rest
// CHECK-SAME: "fused_rows lanes=32 block=256x1 blocks=17"
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt
// CHECK: arith.minsi
// CHECK: %[[HELD:.*]]:2 = scf.if %[[EXISTS]] -> (f32, f32)
// CHECK: memref.load %arg0
// CHECK: %[[IN_ROW:.*]] = arith.cmpi slt
// CHECK: %[[BOTH:.*]] = arith.andi %[[IN_ROW]], %[[EXISTS]]
// CHECK: scf.if %[[BOTH]] -> (f32, f32)
// CHECK: memref.load %arg0
// CHECK: gpu.shuffle
// CHECK: math.sqrt
// CHECK: scf.if
// CHECK: memref.store %{{.*}}, %arg1
// CHECK: scf.if %[[EXISTS]] -> (f32)
// CHECK: arith.divf %[[HELD]]#1
// CHECK: memref.store %{{.*}}, %arg0
func.func private @rest(%x: memref<130x37xf32>, %norm: memref<130xf32>) {
  linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<130x37xf32>) outs(%norm : memref<130xf32>) attrs = {shoal.initial = [0.0 : f32]} {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.mulf %in, %in : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  }
  linalg.generic {indexing_maps = [#row], iterator_types = ["parallel"]} outs(%norm : memref<130xf32>) {
  ^bb0(%out: f32):
    %0 = math.sqrt %out : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#rows, #id], iterator_types = ["parallel", "parallel"]}
      ins(%norm : memref<130xf32>) outs(%x : memref<130x37xf32>) {
  ^bb0(%n: f32, %out: f32):
    %0 = arith.divf %out, %n : f32
    linalg.yield %0 : f32
  }
  return
}
