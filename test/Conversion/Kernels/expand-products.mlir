// RUN: shoal-opt %s --shoal-plan-products=machine=cpu --shoal-expand-products | FileCheck %s

// Vectors run along the last dimension of the result.
// CHECK-DAG: [[ROWS:#.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: [[COLUMNS:#.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG: [[RESULT:#.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>

// CHECK-LABEL: @a_small_product_adds_to_zeros
// CHECK: linalg.fill ins({{.*}} : f32) outs(%arg2 : memref<8x6xf32>)
// CHECK: linalg.generic {indexing_maps = [[[ROWS]], [[COLUMNS]], [[RESULT]]], iterator_types = ["parallel", "reduction", "parallel"]}
// CHECK: [[PRODUCT:%.*]] = arith.mulf {{.*}} fastmath<contract>
// CHECK: arith.addf {{.*}}, [[PRODUCT]] fastmath<contract>
// CHECK-NOT: rt.einsum
func.func @a_small_product_adds_to_zeros(%x: memref<8x4xf32>, %w: memref<4x6xf32>, %y: memref<8x6xf32>) {
  rt.einsum "ik,kj->ij" ins(%x, %w : memref<8x4xf32>, memref<4x6xf32>) outs(%y : memref<8x6xf32>)
  return
}

// Where the second operand is not dense along it: the terms are, and may be
// added in lanes.
// CHECK-LABEL: @vectors_run_along_the_sum
// CHECK: linalg.fill
// CHECK: iterator_types = ["parallel", "parallel", "reduction"]
// CHECK: arith.addf {{.*}} fastmath<reassoc,contract>
func.func @vectors_run_along_the_sum(%x: memref<8x4xf32>, %w: memref<6x4xf32>, %y: memref<8x6xf32>) {
  rt.einsum "ik,jk->ij" ins(%x, %w : memref<8x4xf32>, memref<6x4xf32>) outs(%y : memref<8x6xf32>)
  return
}

// CHECK-LABEL: @without_a_sum_it_is_written
// CHECK-NOT: linalg.fill
// CHECK: iterator_types = ["parallel", "parallel"]
// CHECK-NOT: arith.addf
// CHECK: return
func.func @without_a_sum_it_is_written(%x: memref<64xf32>, %w: memref<96xf32>, %y: memref<64x96xf32>) {
  rt.einsum "i,j->ij" ins(%x, %w : memref<64xf32>, memref<96xf32>) outs(%y : memref<64x96xf32>)
  return
}

// CHECK-LABEL: @integers
// CHECK: arith.muli
// CHECK: arith.addi
func.func @integers(%x: memref<64x32xi32>, %w: memref<32x96xi32>, %y: memref<64x96xi32>) {
  rt.einsum "ik,kj->ij" ins(%x, %w : memref<64x32xi32>, memref<32x96xi32>) outs(%y : memref<64x96xi32>)
  return
}

// Sums of narrow floats are rounded once: the runtime's kernel does that.
// CHECK-LABEL: @narrow_floats_stay_a_call
// CHECK-NOT: linalg
// CHECK: rt.einsum {{.*}} plan <cpu loops
func.func @narrow_floats_stay_a_call(%x: memref<2x3xbf16>, %w: memref<3x2xbf16>, %y: memref<2x2xbf16>) {
  rt.einsum "ik,kj->ij" ins(%x, %w : memref<2x3xbf16>, memref<3x2xbf16>) outs(%y : memref<2x2xbf16>)
  return
}

// CHECK-LABEL: @large_products_stay_calls
// CHECK-NOT: linalg
// CHECK: rt.einsum {{.*}} plan <cpu gemm
func.func @large_products_stay_calls(%x: memref<64x64xf32>, %w: memref<64x64xf32>, %y: memref<64x64xf32>) {
  rt.einsum "ik,kj->ij" ins(%x, %w : memref<64x64xf32>, memref<64x64xf32>) outs(%y : memref<64x64xf32>)
  return
}
