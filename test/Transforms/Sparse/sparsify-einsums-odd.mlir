// Contractions that no router writes: what nothing depends on, scalars as
// factors, dimensions without rows, sums that are narrower than what they add.
//
// RUN: shoal-opt %s -split-input-file --shoal-sparsify-einsums=min-gain=0 | FileCheck %s

// A summed dimension that is in no place and no value counts with its size.
// CHECK-LABEL: @a_size_is_a_factor(
// CHECK: %[[THREE:.*]] = arith.constant dense<3.000000e+00>
// CHECK: arith.mulf {{.*}}%[[THREE]]
func.func @a_size_is_a_factor(%e: tensor<2xi32>, %a: tensor<5xf32>, %t: tensor<3x4xf32>) -> tensor<2xf32> {
  %i = shoal.iota dim = 1 : tensor<2x4xi32>
  %b = shoal.broadcast_in_dim %e dims = [0] : tensor<2xi32> -> tensor<2x4xi32>
  %m = arith.cmpi eq, %i, %b : tensor<2x4xi32>
  %h = arith.uitofp %m : tensor<2x4xi1> to tensor<2x4xf32>
  %g = shoal.broadcast_in_dim %h dims = [1, 2] : tensor<2x4xf32> -> tensor<3x2x4xf32>
  %y = shoal.einsum "gse,c->s" %g, %a : (tensor<3x2x4xf32>, tensor<5xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

// Pairs of places in different dimensions, some of them in one place.
// CHECK-LABEL: @reduced_weights(
// CHECK-NOT: shoal.einsum "sec,m->e"
// CHECK: return
func.func @reduced_weights(%x: tensor<2xf32>, %z: tensor<2x2xf32>, %p: tensor<3xi32>, %q: tensor<2xi32>) -> tensor<f32> {
  %0 = shoal.iota dim = 1 : tensor<2x3xi32>
  %1 = shoal.broadcast_in_dim %q dims = [0] : tensor<2xi32> -> tensor<2x3xi32>
  %2 = arith.cmpi eq, %0, %1 : tensor<2x3xi32>
  %3 = arith.uitofp %2 : tensor<2x3xi1> to tensor<2x3xf32>
  %4 = shoal.broadcast_in_dim %3 dims = [0, 1] : tensor<2x3xf32> -> tensor<2x3x3xf32>
  %5 = shoal.einsum "sec,m->e" %4, %x : (tensor<2x3x3xf32>, tensor<2xf32>) -> tensor<3xf32>
  %6 = shoal.iota dim = 1 : tensor<3x2xi32>
  %7 = shoal.broadcast_in_dim %p dims = [0] : tensor<3xi32> -> tensor<3x2xi32>
  %8 = arith.cmpi eq, %6, %7 : tensor<3x2xi32>
  %9 = arith.uitofp %8 : tensor<3x2xi1> to tensor<3x2xf32>
  %10 = shoal.broadcast_in_dim %5 dims = [0] : tensor<3xf32> -> tensor<3x2xf32>
  %11 = arith.mulf %9, %10 : tensor<3x2xf32>
  %12 = shoal.einsum "se,mn->" %11, %z : (tensor<3x2xf32>, tensor<2x2xf32>) -> tensor<f32>
  return %12 : tensor<f32>
}

// -----

// Nothing is to be gained where there is nothing.
// CHECK-LABEL: @no_rows(
// CHECK: shoal.einsum "sec,c->c"
func.func @no_rows(%a: tensor<0xf32>, %p: tensor<2x2xi32>) -> tensor<0xf32> {
  %0 = shoal.iota dim = 2 : tensor<2x2x0xi32>
  %1 = shoal.broadcast_in_dim %p dims = [0, 1] : tensor<2x2xi32> -> tensor<2x2x0xi32>
  %2 = arith.cmpi eq, %0, %1 : tensor<2x2x0xi32>
  %3 = arith.uitofp %2 : tensor<2x2x0xi1> to tensor<2x2x0xf32>
  %4 = shoal.einsum "sec,c->c" %3, %a : (tensor<2x2x0xf32>, tensor<0xf32>) -> tensor<0xf32>
  return %4 : tensor<0xf32>
}

// -----

// The last of several updates of a place stays, and one that has none is gone.
// CHECK-LABEL: @mask_by_scatter(
// CHECK: shoal.gather
// CHECK-NOT: shoal.einsum
// CHECK: return
func.func @mask_by_scatter(%p: tensor<96x2x1xi32>, %w: tensor<96x2xf32>, %x: tensor<100x12xf32>) -> tensor<96x12xf32> {
  %zero = arith.constant dense<0.0> : tensor<96x100xf32>
  %m = shoal.scatter overwrite %zero, %p, %w update_window_dims = [] inserted_window_dims = [1]
      input_batching_dims = [0] scatter_indices_batching_dims = [0] scatter_dims_to_operand_dims = [1] index_vector_dim = 2
      : (tensor<96x100xf32>, tensor<96x2x1xi32>, tensor<96x2xf32>) -> tensor<96x100xf32>
  %y = shoal.einsum "SE,EM->SM" %m, %x : (tensor<96x100xf32>, tensor<100x12xf32>) -> tensor<96x12xf32>
  return %y : tensor<96x12xf32>
}

// -----

// A token that is not there has no value either: its product is no zero if that
// is NaN, as padding is.
// CHECK-LABEL: @no_value_without_a_place(
// CHECK-SAME: %{{.*}}: tensor<2xi32>, %[[W:.*]]: tensor<2xf32>, %[[X:.*]]: tensor<2x9xf32>)
// CHECK-DAG: %[[WEIGHTS:.*]] = arith.select %{{.*}}, %[[W]], %{{.*}} : tensor<2xi1>, tensor<2xf32>
// CHECK-DAG: %[[ROW:.*]] = shoal.gather %[[X]]
// CHECK-DAG: %[[ROWS:.*]] = arith.select %{{.*}}, %[[ROW]], %{{.*}} : tensor<2xi1>, tensor<2xf32>
// CHECK: arith.mulf %[[WEIGHTS]], %[[ROWS]]
func.func @no_value_without_a_place(%p: tensor<2xi32>, %w: tensor<2xf32>, %x: tensor<2x9xf32>) -> tensor<f32> {
  %i = shoal.iota dim = 1 : tensor<2x9xi32>
  %b = shoal.broadcast_in_dim %p dims = [0] : tensor<2xi32> -> tensor<2x9xi32>
  %m = arith.cmpi eq, %i, %b : tensor<2x9xi32>
  %h = arith.uitofp %m : tensor<2x9xi1> to tensor<2x9xf32>
  %wb = shoal.broadcast_in_dim %w dims = [0] : tensor<2xf32> -> tensor<2x9xf32>
  %hw = arith.mulf %h, %wb : tensor<2x9xf32>
  %y = shoal.einsum "se,se->" %hw, %x : (tensor<2x9xf32>, tensor<2x9xf32>) -> tensor<f32>
  return %y : tensor<f32>
}
