// RUN: shoal-opt %s --shoal-split-reductions --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @all_to_one
// CHECK: %[[IN:.*]] = memref.expand_shape %arg0 {{.*}} : memref<4194304xf32> into memref<1024x4096xf32>
// CHECK: %[[SUMS:.*]] = memref.alloc() : memref<1024xf32>
// CHECK: linalg.generic {{.*}}["parallel", "reduction"]} ins(%[[IN]] : {{.*}}) outs(%[[SUMS]]{{.*}}shoal.initial = [-0.000000e+00 : f32]
// CHECK: linalg.generic {{.*}}["reduction"]} ins(%[[SUMS]] : {{.*}}) outs(%arg1
// CHECK-NOT: linalg.generic
func.func @all_to_one(%x: memref<4194304xf32>, %s: memref<f32>) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
      ins(%x : memref<4194304xf32>) outs(%s : memref<f32>) {
  ^bb0(%in: f32, %sum: f32):
    %0 = arith.addf %sum, %in : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// The outer loop is cut, of which some iterations are left over; the body's
// index counts on, and the exponentials go where they went.
// CHECK-LABEL: func.func @rest_and_index
// CHECK: %[[COVERED:.*]] = memref.subview %arg0[0, 0] [3000, 700]
// CHECK: memref.expand_shape %[[COVERED]] {{.*}} into memref<500x6x700xf32
// CHECK: memref.alloc() : memref<500xf32>
// CHECK: linalg.generic {{.*}}["parallel", "reduction", "reduction"]}
// CHECK: %[[INNER:.*]] = linalg.index 1
// CHECK: %[[PART:.*]] = linalg.index 0
// CHECK: %[[FIRST:.*]] = arith.muli %[[PART]], %c6
// CHECK: %[[ROW:.*]] = arith.addi %[[INNER]], %[[FIRST]]
// CHECK: arith.index_cast %[[ROW]]
// CHECK: memref.subview %arg0[3000, 0] [1, 700]
// CHECK: linalg.generic {{.*}}["reduction", "reduction"]}
// CHECK: linalg.index 0
// CHECK: arith.addi %{{.*}}, %c3000
// CHECK: linalg.generic {{.*}}["reduction"]} {{.*}} outs(%arg2
func.func @rest_and_index(%x: memref<3001x700xf32>, %e: memref<3001x700xf32>, %s: memref<f32>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%x : memref<3001x700xf32>) outs(%e, %s : memref<3001x700xf32>, memref<f32>) {
  ^bb0(%in: f32, %old: f32, %sum: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i32
    %k = arith.sitofp %j : i32 to f32
    %0 = arith.mulf %in, %k : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %0, %1 : f32, f32
  }
  return
}

// -----

// Few columns of many rows.
// CHECK-LABEL: func.func @columns
// CHECK: memref.alloc() : memref<512x64xf32>
// CHECK: linalg.generic {{.*}}["parallel", "reduction", "parallel"]}
// CHECK: linalg.generic {{.*}}["reduction", "parallel"]}
func.func @columns(%x: memref<65536x64xf32>, %s: memref<64xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<65536x64xf32>) outs(%s : memref<64xf32>) {
  ^bb0(%in: f32, %sum: f32):
    %0 = arith.maximumf %sum, %in : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// Many rows; a short sum; sums of bf16, whose order is the program's.
// CHECK-LABEL: func.func @kept
// CHECK-NOT: memref.alloc
// CHECK: return
func.func @kept(%x: memref<65536x1024xf32>, %s: memref<65536xf32>, %t: memref<4096xf32>, %u: memref<f32>,
                %v: memref<4194304xbf16>, %w: memref<bf16>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<65536x1024xf32>) outs(%s : memref<65536xf32>) {
  ^bb0(%in: f32, %sum: f32):
    %0 = arith.addf %sum, %in : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
      ins(%t : memref<4096xf32>) outs(%u : memref<f32>) {
  ^bb0(%in: f32, %sum: f32):
    %0 = arith.addf %sum, %in : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
      ins(%v : memref<4194304xbf16>) outs(%w : memref<bf16>) {
  ^bb0(%in: bf16, %sum: bf16):
    %0 = arith.addf %sum, %in : bf16
    linalg.yield %0 : bf16
  }
  return
}

// -----

// What the sum begins with is combined once: with the parts, or by what is left
// over.
// CHECK-LABEL: func.func @begins_with_three
// CHECK: linalg.generic {{.*}}["parallel", "reduction"]}{{.*}}shoal.initial = [-0.000000e+00 : f32]
// CHECK: linalg.generic {{.*}}["reduction"]}{{.*}}shoal.initial = [3.000000e+00 : f32]
func.func @begins_with_three(%x: memref<4194304xf32>, %s: memref<f32>) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
      ins(%x : memref<4194304xf32>) outs(%s : memref<f32>) attrs = {shoal.initial = [3.0 : f32]} {
  ^bb0(%in: f32, %sum: f32):
    %0 = arith.addf %sum, %in : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// CHECK-LABEL: func.func @begins_with_five
// CHECK: linalg.generic {{.*}}["parallel", "reduction", "reduction"]}{{.*}}shoal.initial = [-0.000000e+00 : f32]
// CHECK: linalg.generic {{.*}}["reduction", "reduction"]}{{.*}}shoal.initial = [5.000000e+00 : f32]
// CHECK: linalg.generic {{.*}}["reduction"]}
// CHECK-NOT: shoal.initial
func.func @begins_with_five(%x: memref<3001x700xf32>, %s: memref<f32>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%x : memref<3001x700xf32>) outs(%s : memref<f32>) attrs = {shoal.initial = [5.0 : f32]} {
  ^bb0(%in: f32, %sum: f32):
    %0 = arith.addf %sum, %in : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// What is in a kernel with others stays whole.
// CHECK-LABEL: func.func @in_a_kernel
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT: linalg.generic
func.func @in_a_kernel(%x: memref<4194304xf32>, %s: memref<f32>) {
  rt.kernel {
    linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
        ins(%x : memref<4194304xf32>) outs(%s : memref<f32>) {
    ^bb0(%in: f32, %sum: f32):
      %0 = arith.addf %sum, %in : f32
      linalg.yield %0 : f32
    }
  }
  return
}
