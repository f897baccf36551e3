// Gathers, scatters and dynamic slices become calls; scatters work in place
// where the operand dies, and on a copy elsewhere.
//
// RUN: shoal-opt %s --shoal-to-linalg | FileCheck %s
// RUN: shoal-opt %s --shoal-lower-to-cpu --mlir-print-ir-after=shoal-plan-memory -o /dev/null 2>&1 | FileCheck %s --check-prefix=MEMORY

// f32 (0), i32 indices (5), rank 2: rows 7 in windows of 1 by component 0; 5 of
// 5, their stride 1; one batch dimension of 9: strides 1 and 5.
// CHECK-LABEL: @rows
// CHECK: rt.gather <[7 by 1 at 0, 5 by 5 step 1] loop [9 : 1, 0, 5]> ins(%arg0, %arg1 :
func.func @rows(%table: tensor<7x5xf32>, %ids: tensor<9xi32>) -> tensor<9x5xf32> {
  %0 = shoal.gather %table, %ids offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0] index_vector_dim = 1
      slice_sizes = [1, 5] : (tensor<7x5xf32>, tensor<9xi32>) -> tensor<9x5xf32>
  return %0 : tensor<9x5xf32>
}

// Only starts that count: those of the dimensions that are cut.
// CHECK-LABEL: @slice
// CHECK: %[[START:.*]] = tensor.insert_slice %arg2 into %{{.*}}[0] [1] [1] : tensor<i32> into tensor<1xi32>
// CHECK: rt.gather <[7 by 7 step 3, 5 by 3 step 1 at 0]> ins(%arg0, %[[START]] :
func.func @slice(%x: tensor<7x5xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<7x3xf32> {
  %0 = shoal.dynamic_slice %x [%i, %j] sizes = [7, 3] : (tensor<7x5xf32>, tensor<i32>, tensor<i32>) -> tensor<7x3xf32>
  return %0 : tensor<7x3xf32>
}

// Kind -1 overwrites; starts are clamped (1).
// CHECK-LABEL: @update
// CHECK: rt.scatter <[7 by 2 step 5 at 0, 5 by 5 step 1]> ins(%{{.*}}, %arg1 : tensor<1xi32>, tensor<2x5xf32>)
// CHECK-SAME: outs(%arg0 : tensor<7x5xf32>) {clamps}
func.func @update(%x: tensor<7x5xf32>, %u: tensor<2x5xf32>, %i: tensor<i32>) -> tensor<7x5xf32> {
  %0 = shoal.dynamic_update_slice %x, %u [%i, %i] : (tensor<7x5xf32>, tensor<2x5xf32>, tensor<i32>, tensor<i32>) -> tensor<7x5xf32>
  return %0 : tensor<7x5xf32>
}

// Sums of narrow floats in f32.
// CHECK-LABEL: @narrow
// CHECK: arith.extf %arg0 : tensor<7xbf16> to tensor<7xf32>
// CHECK: rt.scatter {{.*}} kind sum ins(
// CHECK: arith.truncf
func.func @narrow(%x: tensor<7xbf16>, %i: tensor<9xi32>, %u: tensor<9xbf16>) -> tensor<7xbf16> {
  %0 = shoal.scatter sum %x, %i, %u update_window_dims = [] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0]
      index_vector_dim = 1 : (tensor<7xbf16>, tensor<9xi32>, tensor<9xbf16>) -> tensor<7xbf16>
  return %0 : tensor<7xbf16>
}

// No argument of a call has no elements; the indices here are never read.
// CHECK-LABEL: @no_indices
// CHECK: %[[ONE:.*]] = tensor.empty() : tensor<1xi32>
// CHECK: rt.gather {{.*}} ins(%arg0, %[[ONE]] :
// CHECK: return %{{.*}}, %arg0, %arg0
func.func @no_indices(%x: tensor<7xf32>, %i: tensor<2x0xi32>, %none: tensor<0x2xf32>, %j: tensor<0xi32>, %u: tensor<0xf32>, %s: tensor<i32>)
    -> (tensor<2x3xf32>, tensor<7xf32>, tensor<7xf32>) {
  %0 = shoal.gather %x, %i offset_dims = [1] collapsed_slice_dims = [] start_index_map = [] index_vector_dim = 1 slice_sizes = [3]
      : (tensor<7xf32>, tensor<2x0xi32>) -> tensor<2x3xf32>
  %1 = shoal.scatter sum %x, %j, %none update_window_dims = [1] inserted_window_dims = [] scatter_dims_to_operand_dims = [0]
      index_vector_dim = 1 : (tensor<7xf32>, tensor<0xi32>, tensor<0x2xf32>) -> tensor<7xf32>
  %2 = shoal.dynamic_update_slice %x, %u [%s] : (tensor<7xf32>, tensor<0xf32>, tensor<i32>) -> tensor<7xf32>
  return %0, %1, %2 : tensor<2x3xf32>, tensor<7xf32>, tensor<7xf32>
}

// An argument is the caller's: the first scatter has a copy, in the result, the
// second writes into that.
// MEMORY-LABEL: func.func @twice
// MEMORY: memref.copy %arg0, %[[OUT:.*]] :
// MEMORY-NEXT: rt.scatter {{.*}} outs(%[[OUT]] :
// MEMORY-NOT: memref.copy
// MEMORY: rt.scatter {{.*}} outs(%[[OUT]] :
// MEMORY-NEXT: return
func.func @twice(%x: tensor<7xf32>, %i: tensor<9xi32>, %u: tensor<9xf32>) -> tensor<7xf32> {
  %0 = shoal.scatter sum %x, %i, %u update_window_dims = [] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0]
      index_vector_dim = 1 : (tensor<7xf32>, tensor<9xi32>, tensor<9xf32>) -> tensor<7xf32>
  %1 = shoal.scatter max %0, %i, %u update_window_dims = [] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0]
      index_vector_dim = 1 : (tensor<7xf32>, tensor<9xi32>, tensor<9xf32>) -> tensor<7xf32>
  return %1 : tensor<7xf32>
}
