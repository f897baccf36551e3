// RUN: shoal-opt %s | shoal-opt | FileCheck %s
// RUN: shoal-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @forms
// CHECK: shoal.dynamic_slice %{{.*}}[%{{.*}}, %{{.*}}] sizes = [2, 6]
// CHECK: shoal.dynamic_update_slice %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] :
// CHECK: shoal.gather %{{.*}}, %{{.*}} offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0] index_vector_dim = 1 slice_sizes = [1, 6] :
// CHECK: operand_batching_dims = [0] start_indices_batching_dims = [0] start_index_map = [1]
// CHECK: shoal.scatter sum %{{.*}}, %{{.*}}, %{{.*}} update_window_dims = [1] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0] index_vector_dim = 1 :
// CHECK: shoal.scatter overwrite %{{.*}} input_batching_dims = [0] scatter_indices_batching_dims = [0]
func.func @forms(%x: tensor<5x6xf32>, %i: tensor<i32>, %u: tensor<2x6xf32>, %n: tensor<5xi32>, %v: tensor<5xf32>)
    -> (tensor<2x6xf32>, tensor<5x6xf32>, tensor<5x6xf32>, tensor<5xf32>, tensor<5x6xf32>, tensor<5x6xf32>) {
  %0 = shoal.dynamic_slice %x [%i, %i] sizes = [2, 6] : (tensor<5x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x6xf32>
  %1 = shoal.dynamic_update_slice %x, %u [%i, %i] : (tensor<5x6xf32>, tensor<2x6xf32>, tensor<i32>, tensor<i32>) -> tensor<5x6xf32>
  %2 = shoal.gather %x, %n offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0] index_vector_dim = 1 slice_sizes = [1, 6]
      : (tensor<5x6xf32>, tensor<5xi32>) -> tensor<5x6xf32>
  %3 = shoal.gather %x, %n offset_dims = [] collapsed_slice_dims = [1] operand_batching_dims = [0] start_indices_batching_dims = [0]
      start_index_map = [1] index_vector_dim = 1 slice_sizes = [1, 1] : (tensor<5x6xf32>, tensor<5xi32>) -> tensor<5xf32>
  %4 = shoal.scatter sum %x, %n, %x update_window_dims = [1] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0]
      index_vector_dim = 1 : (tensor<5x6xf32>, tensor<5xi32>, tensor<5x6xf32>) -> tensor<5x6xf32>
  %5 = shoal.scatter overwrite %x, %n, %v update_window_dims = [] inserted_window_dims = [1] input_batching_dims = [0]
      scatter_indices_batching_dims = [0] scatter_dims_to_operand_dims = [1] index_vector_dim = 1
      : (tensor<5x6xf32>, tensor<5xi32>, tensor<5xf32>) -> tensor<5x6xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<2x6xf32>, tensor<5x6xf32>, tensor<5x6xf32>, tensor<5xf32>, tensor<5x6xf32>, tensor<5x6xf32>
}

// CHECK-LABEL: @no_rows
// CHECK: slice_sizes = [0, 1]
func.func @no_rows(%x: tensor<0x6xf32>, %n: tensor<0xi32>) -> tensor<0xf32> {
  %0 = shoal.gather %x, %n offset_dims = [] collapsed_slice_dims = [1] operand_batching_dims = [0] start_indices_batching_dims = [0]
      start_index_map = [1] index_vector_dim = 1 slice_sizes = [0, 1] : (tensor<0x6xf32>, tensor<0xi32>) -> tensor<0xf32>
  return %0 : tensor<0xf32>
}

// A slice of everything, an update of everything, updates of nothing; parts of
// a splat.
// FOLD-LABEL: @folds
// FOLD-SAME: %[[X:.*]]: tensor<5xf32>, %[[I:.*]]: tensor<i32>, %[[U:.*]]: tensor<5xf32>, %[[E:.*]]: tensor<0xf32>, %[[N:.*]]: tensor<0xi32>
// FOLD: %[[C:.*]] = arith.constant dense<2.000000e+00> : tensor<3xf32>
// FOLD-NEXT: return %[[X]], %[[U]], %[[X]], %[[X]], %[[C]], %[[C]]
func.func @folds(%x: tensor<5xf32>, %i: tensor<i32>, %u: tensor<5xf32>, %e: tensor<0xf32>, %n: tensor<0xi32>, %m: tensor<3xi32>)
    -> (tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<3xf32>, tensor<3xf32>) {
  %0 = shoal.dynamic_slice %x [%i] sizes = [5] : (tensor<5xf32>, tensor<i32>) -> tensor<5xf32>
  %1 = shoal.dynamic_update_slice %x, %u [%i] : (tensor<5xf32>, tensor<5xf32>, tensor<i32>) -> tensor<5xf32>
  %2 = shoal.dynamic_update_slice %x, %e [%i] : (tensor<5xf32>, tensor<0xf32>, tensor<i32>) -> tensor<5xf32>
  %3 = shoal.scatter sum %x, %n, %e update_window_dims = [] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0]
      index_vector_dim = 1 : (tensor<5xf32>, tensor<0xi32>, tensor<0xf32>) -> tensor<5xf32>
  %two = arith.constant dense<2.0> : tensor<5xf32>
  %4 = shoal.dynamic_slice %two [%i] sizes = [3] : (tensor<5xf32>, tensor<i32>) -> tensor<3xf32>
  %5 = shoal.gather %two, %m offset_dims = [] collapsed_slice_dims = [0] start_index_map = [0] index_vector_dim = 1 slice_sizes = [1]
      : (tensor<5xf32>, tensor<3xi32>) -> tensor<3xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<3xf32>, tensor<3xf32>
}
