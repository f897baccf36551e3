// Partial sums travel through gathers, scatters and slices, and are reduced
// where they are small.
//
// RUN: shoal-opt %s --shoal-partition | FileCheck %s
// RUN: shoal-run %s --entry=gather_of_partial_operand --random-inputs=1 --compare
// RUN: shoal-run %s --entry=slice_of_partial_operand --random-inputs=1 --compare
// RUN: shoal-run %s --entry=update_of_partial_by_partial --random-inputs=1 --compare
// RUN: shoal-run %s --entry=scatter_of_partial_updates --random-inputs=1 --compare
// RUN: shoal-run %s --entry=scatter_into_zeros --random-inputs=1 --compare
// RUN: shoal-run %s --entry=scatter_of_partial_updates_into_partial --random-inputs=1 --compare

shoal.mesh @mesh = <["x" = 4]>

// CHECK-LABEL: @gather_of_partial_operand
// CHECK: shoal.einsum {{.*}} -> tensor<97x6xf32>
// CHECK-NOT: spmd
// CHECK: shoal.gather
// CHECK: spmd.all_reduce sum @mesh {"x"} %{{.*}} : tensor<2x6xf32>
func.func @gather_of_partial_operand(
    %a: tensor<97x9xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
    %b: tensor<9x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}, %i: tensor<2xi32>)
    -> (tensor<2x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>}) {
  %x = shoal.einsum "AB,BC->AC" %a, %b : (tensor<97x9xf32>, tensor<9x6xf32>) -> tensor<97x6xf32>
  %y = shoal.gather %x, %i offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0] index_vector_dim = 1
      slice_sizes = [1, 6] : (tensor<97x6xf32>, tensor<2xi32>) -> tensor<2x6xf32>
  return %y : tensor<2x6xf32>
}

// CHECK-LABEL: @slice_of_partial_operand
// CHECK: shoal.einsum {{.*}} -> tensor<97x6xf32>
// CHECK-NOT: spmd
// CHECK: shoal.dynamic_slice
// CHECK: spmd.all_reduce sum @mesh {"x"} %{{.*}} : tensor<2x6xf32>
func.func @slice_of_partial_operand(
    %a: tensor<97x9xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
    %b: tensor<9x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}, %i: tensor<i32>)
    -> (tensor<2x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>}) {
  %x = shoal.einsum "AB,BC->AC" %a, %b : (tensor<97x9xf32>, tensor<9x6xf32>) -> tensor<97x6xf32>
  %y = shoal.dynamic_slice %x [%i, %i] sizes = [2, 6] : (tensor<97x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x6xf32>
  return %y : tensor<2x6xf32>
}

// One sum over all, instead of one of each.
// CHECK-LABEL: @update_of_partial_by_partial
// CHECK: shoal.dynamic_update_slice
// CHECK: spmd.all_reduce sum @mesh {"x"} %{{.*}} : tensor<f32>
func.func @update_of_partial_by_partial(
    %a: tensor<97x9xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
    %b: tensor<9x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %c: tensor<2x9xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>}, %i: tensor<i32>)
    -> (tensor<f32> {shoal.sharding = #shoal.sharding<@mesh, []>}) {
  %x = shoal.einsum "AB,BC->AC" %a, %b : (tensor<97x9xf32>, tensor<9x6xf32>) -> tensor<97x6xf32>
  %u = shoal.einsum "AB,BC->AC" %c, %b : (tensor<2x9xf32>, tensor<9x6xf32>) -> tensor<2x6xf32>
  %y = shoal.dynamic_update_slice %x, %u [%i, %i] : (tensor<97x6xf32>, tensor<2x6xf32>, tensor<i32>, tensor<i32>) -> tensor<97x6xf32>
  %s = shoal.reduce sum %y dims = [0, 1] : tensor<97x6xf32> -> tensor<f32>
  return %s : tensor<f32>
}

// The operand counts once: on the first device.
// CHECK-LABEL: @scatter_of_partial_updates
// CHECK: shoal.einsum {{.*}} -> tensor<97x6xf32>
// CHECK: %[[ONCE:.*]] = arith.select %{{.*}}, %arg3, %{{.*}} : tensor<7x6xi1>, tensor<7x6xf32>
// CHECK: shoal.scatter sum %[[ONCE]]
// CHECK: spmd.all_reduce sum @mesh {"x"} %{{.*}} : tensor<7x6xf32>
func.func @scatter_of_partial_updates(
    %a: tensor<97x9xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
    %b: tensor<9x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}, %i: tensor<97xi32>,
    %table: tensor<7x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>})
    -> (tensor<7x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>}) {
  %u = shoal.einsum "AB,BC->AC" %a, %b : (tensor<97x9xf32>, tensor<9x6xf32>) -> tensor<97x6xf32>
  %y = shoal.scatter sum %table, %i, %u update_window_dims = [1] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0]
      index_vector_dim = 1 : (tensor<7x6xf32>, tensor<97xi32>, tensor<97x6xf32>) -> tensor<7x6xf32>
  return %y : tensor<7x6xf32>
}

// Zeros may count everywhere.
// CHECK-LABEL: @scatter_into_zeros
// CHECK-NOT: arith.select
// CHECK: shoal.scatter sum
// CHECK: spmd.all_reduce sum @mesh {"x"} %{{.*}} : tensor<7x6xf32>
func.func @scatter_into_zeros(
    %u: tensor<96x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %i: tensor<96xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>})
    -> (tensor<7x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>}) {
  %zeros = arith.constant dense<0.0> : tensor<7x6xf32>
  %y = shoal.scatter sum %zeros, %i, %u update_window_dims = [1] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0]
      index_vector_dim = 1 : (tensor<7x6xf32>, tensor<96xi32>, tensor<96x6xf32>) -> tensor<7x6xf32>
  return %y : tensor<7x6xf32>
}

// CHECK-LABEL: @scatter_of_partial_updates_into_partial
// CHECK-NOT: arith.select
// CHECK: shoal.scatter sum
// CHECK: spmd.all_reduce sum @mesh {"x"} %{{.*}} : tensor<7x6xf32>
// CHECK-NOT: spmd
func.func @scatter_of_partial_updates_into_partial(
    %a: tensor<97x8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
    %b: tensor<8x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}, %i: tensor<97xi32>,
    %c: tensor<7x8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<7x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>}) {
  %x = shoal.einsum "AB,BC->AC" %c, %b : (tensor<7x8xf32>, tensor<8x6xf32>) -> tensor<7x6xf32>
  %u = shoal.einsum "AB,BC->AC" %a, %b : (tensor<97x8xf32>, tensor<8x6xf32>) -> tensor<97x6xf32>
  %y = shoal.scatter sum %x, %i, %u update_window_dims = [1] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0]
      index_vector_dim = 1 : (tensor<7x6xf32>, tensor<97xi32>, tensor<97x6xf32>) -> tensor<7x6xf32>
  return %y : tensor<7x6xf32>
}
