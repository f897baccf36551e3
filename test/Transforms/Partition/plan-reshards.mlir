// A reshard becomes a chain of single steps; chains of one value share them.
//
// RUN: shoal-opt %s --shoal-plan-reshards | FileCheck %s

shoal.mesh @mesh = <["x" = 2, "y" = 4]>
shoal.mesh @reversed = <["x" = 2, "y" = 4], device_ids = [7, 6, 5, 4, 3, 2, 1, 0]>

// CHECK-LABEL: @split_moves_to_another_dimension
func.func @split_moves_to_another_dimension(%a: tensor<24x48xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {}]>}) -> tensor<24x48xf32> {
  // CHECK: shoal.reshard %arg0 <@mesh, [{"y"}, {}]> -> <@mesh, [{}, {"y"}]> by all_to_all
  %0 = shoal.reshard %a <@mesh, [{"y"}, {}]> -> <@mesh, [{}, {"y"}]> : tensor<24x48xf32>
  return %0 : tensor<24x48xf32>
}

// CHECK-LABEL: @partial_sum_is_scattered_over_the_slice
func.func @partial_sum_is_scattered_over_the_slice(%a: tensor<24x48xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}], partial = {"y"}>}) -> tensor<24x48xf32> {
  // CHECK: %[[S:.*]] = shoal.reshard %arg0 <@mesh, [{}, {}], partial = {"y"}> -> <@mesh, [{"x"}, {}], partial = {"y"}> by slice
  // CHECK: shoal.reshard %[[S]] {{.*}} -> <@mesh, [{"x", "y"}, {}]> by reduce_scatter
  %0 = shoal.reshard %a <@mesh, [{}, {}], partial = {"y"}> -> <@mesh, [{"x", "y"}, {}]> : tensor<24x48xf32>
  return %0 : tensor<24x48xf32>
}

// CHECK-LABEL: @gathers_of_one_value_are_shared
func.func @gathers_of_one_value_are_shared(%a: tensor<24x48xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x", "y"}, {}]>}) -> (tensor<24x48xf32>, tensor<24x48xf32>) {
  // CHECK-COUNT-1: by collective_permute
  // CHECK-NOT: by collective_permute
  // CHECK: by all_gather
  %0 = shoal.reshard %a <@mesh, [{"x", "y"}, {}]> -> <@mesh, [{"y", "x"}, {}]> : tensor<24x48xf32>
  %1 = shoal.reshard %a <@mesh, [{"x", "y"}, {}]> -> <@mesh, [{"y"}, {}]> : tensor<24x48xf32>
  return %0, %1 : tensor<24x48xf32>, tensor<24x48xf32>
}

// Who has all has the target's block too.
// CHECK-LABEL: @device_order_of_a_whole_value_is_a_label
func.func @device_order_of_a_whole_value_is_a_label(%a: tensor<24x48xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>}) -> tensor<24x48xf32> {
  // CHECK: %[[S:.*]] = shoal.reshard {{.*}} -> <@reversed, [{}, {}]> by relabel
  // CHECK: shoal.reshard %[[S]] {{.*}} -> <@reversed, [{"x", "y"}, {}]> by slice
  %0 = shoal.reshard %a <@mesh, [{}, {}]> -> <@reversed, [{"x", "y"}, {}]> : tensor<24x48xf32>
  return %0 : tensor<24x48xf32>
}

// CHECK-LABEL: @dimensions_swap_their_axes
func.func @dimensions_swap_their_axes(%a: tensor<24x48xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<24x48xf32> {
  // CHECK: shoal.reshard %arg0 <@mesh, [{"x"}, {"y"}]> -> <@reversed, [{"y"}, {"x"}]> by exchange
  %0 = shoal.reshard %a <@mesh, [{"x"}, {"y"}]> -> <@reversed, [{"y"}, {"x"}]> : tensor<24x48xf32>
  return %0 : tensor<24x48xf32>
}

// Device y keeps a quarter of each half of the rows; then the halves are summed.
// CHECK-LABEL: @sums_in_front_of_a_slice_pass_through_strided_blocks
func.func @sums_in_front_of_a_slice_pass_through_strided_blocks(%a: tensor<24x48xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}], partial = {"x"}>}) -> (tensor<24x48xf32>, tensor<24x48xf32>) {
  // CHECK: %[[R:.*]] = shoal.reshape %arg0 {shoal.shardings = [#shoal.sharding<@mesh, [{}, {}, {}], partial = {"x"}>]} : tensor<24x48xf32> -> tensor<2x12x48xf32>
  // CHECK: %[[S:.*]] = shoal.reshard %[[R]] {{.*}} -> <@mesh, [{}, {"y"}, {}], partial = {"x"}> by slice
  // CHECK: %[[T:.*]] = shoal.reshard %[[S]] {{.*}} -> <@mesh, [{"x"}, {"y"}, {}]> by reduce_scatter
  // CHECK: %[[U:.*]] = shoal.reshape %[[T]] {shoal.shardings = [#shoal.sharding<@mesh, [{"x", "y"}, {}]>]} : tensor<2x12x48xf32> -> tensor<24x48xf32>
  // CHECK: return %[[U]], %[[U]]
  %0 = shoal.reshard %a <@mesh, [{}, {}], partial = {"x"}> -> <@mesh, [{"x", "y"}, {}]> : tensor<24x48xf32>
  %1 = shoal.reshard %a <@mesh, [{}, {}], partial = {"x"}> -> <@mesh, [{"x", "y"}, {}]> : tensor<24x48xf32>
  return %0, %1 : tensor<24x48xf32>, tensor<24x48xf32>
}
