// RUN: shoal-opt %s --shoal-expose-addends | FileCheck %s

// Who calls a program has the addends of arguments and results that are partial,
// one behind the other.

shoal.mesh @mesh = <["x" = 2, "y" = 4]>

// CHECK-LABEL: func.func @addends_in_and_out
// CHECK-SAME: %[[X:.*]]: tensor<4x8x4xf32> {shoal.addends, shoal.name = "x", shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {"x"}, {}]>}
// CHECK-SAME: -> (tensor<2x8x4xf32> {shoal.addends, shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}, {"y", ?}]>})
// CHECK: %[[SUM:.*]] = shoal.manual_computation @mesh {"y"}(%[[X]])
// CHECK-SAME: in [#shoal.sharding<@mesh, [{"y"}, {"x"}, {}]>] out [#shoal.sharding<@mesh, [{"x"}, {}], partial = {"y"}>]
// CHECK: shoal.reshape %{{.*}} : tensor<1x8x4xf32> -> tensor<8x4xf32>
// CHECK: %[[Y:.*]] = arith.addf %[[SUM]], %[[SUM]] : tensor<8x4xf32>
// CHECK: %[[EACH:.*]] = shoal.manual_computation @mesh {"x"}(%[[Y]])
// CHECK-SAME: in [#shoal.sharding<@mesh, [{}, {"y", ?}], partial = {"x"}>] out [#shoal.sharding<@mesh, [{"x"}, {}, {"y", ?}]>]
// CHECK: shoal.reshape %{{.*}} : tensor<8x4xf32> -> tensor<1x8x4xf32>
// CHECK: return %[[EACH]] : tensor<2x8x4xf32>
func.func @addends_in_and_out(%x: tensor<8x4xf32> {shoal.name = "x", shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}], partial = {"y"}>})
    -> (tensor<8x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y", ?}], partial = {"x"}>}) {
  %y = arith.addf %x, %x : tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// Over two axes the addends are in the order of these.
// CHECK-LABEL: func.func @a_scalar_over_two_axes
// CHECK-SAME: tensor<8xf32> {shoal.addends, shoal.sharding = #shoal.sharding<@mesh, [{"y", "x"}]>}
func.func @a_scalar_over_two_axes(%x: tensor<f32> {shoal.sharding = #shoal.sharding<@mesh, [], partial = {"y", "x"}>}) -> tensor<f32> {
  return %x : tensor<f32>
}
