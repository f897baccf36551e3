// RUN: shoal-opt %s --shoal-assign --shoal-verify-assignment | FileCheck %s

// The choice of shardings by cost, and the reshards that it needs.

shoal.mesh @mesh = <["x" = 2, "one" = 1, "y" = 4]>

// CHECK-LABEL: func @arguments_take_what_their_uses_need(
// CHECK-SAME: %[[A:.*]]: tensor<8x16xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}
// CHECK-SAME: %[[B:.*]]: tensor<16x32xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y"}]>}
// CHECK-NEXT: shoal.einsum "IK,KJ->IJ" %[[A]], %[[B]]
// CHECK-NOT: shoal.reshard
// CHECK: return
func.func @arguments_take_what_their_uses_need(%a: tensor<8x16xf32>, %b: tensor<16x32xf32>)
    -> (tensor<8x32xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"} ]>}) {
  %c = shoal.einsum "IK,KJ->IJ" %a, %b : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  return %c : tensor<8x32xf32>
}

// CHECK-LABEL: func @a_reshard_stands_before_its_first_user_and_is_shared(
// CHECK-SAME: %[[X:[a-z0-9]+]]:
// CHECK-NEXT: %[[M:.*]] = shoal.reshard %[[X]] <@mesh, [{"y"}, {}]> -> <@mesh, [{}, {"y"}]>
// CHECK-SAME: why = "operand 0 of shoal.sharding_constraint at {{.*}}assign.mlir:[[# @LINE + 7]]:8"
// CHECK-NEXT: shoal.sharding_constraint %[[M]]
// CHECK-NEXT: shoal.sharding_constraint %[[M]]
// CHECK-NOT: shoal.reshard
func.func @a_reshard_stands_before_its_first_user_and_is_shared(
    %x: tensor<8x16xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {} ]>})
    -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %a = shoal.sharding_constraint %x <@mesh, [{}, {"y"} ]> : tensor<8x16xf32>
  %b = shoal.sharding_constraint %x <@mesh, [{}, {"y"} ]> : tensor<8x16xf32>
  return %a, %b : tensor<8x16xf32>, tensor<8x16xf32>
}

// Both products are sums over "y"; they are added before the one reduction.
// CHECK-LABEL: func @sums_stay_partial_through_linear_ops(
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK-SAME: partial = {"y"}>
// CHECK-NEXT: shoal.reshard %[[SUM]] <@mesh, [{}, {{.*}}], partial = {"y"}> -> <@mesh, [{"y"}, {}]>
// CHECK-SAME: why = "result 0 \22z\22 of @sums_stay_partial_through_linear_ops"
func.func @sums_stay_partial_through_linear_ops(
    %a: tensor<64x1024xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y"} ]>},
    %b: tensor<1024x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {} ]>},
    %c: tensor<1024x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {} ]>})
    -> (tensor<64x64xf32> {shoal.name = "z", shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {} ]>}) {
  %p = shoal.einsum "IK,KJ->IJ" %a, %b : (tensor<64x1024xf32>, tensor<1024x64xf32>) -> tensor<64x64xf32>
  %q = shoal.einsum "IK,KJ->IJ" %a, %c : (tensor<64x1024xf32>, tensor<1024x64xf32>) -> tensor<64x64xf32>
  %z = arith.addf %p, %q : tensor<64x64xf32>
  return %z : tensor<64x64xf32>
}

// The constant is made once for each sharding that its users need.
// CHECK-LABEL: func @constants_are_made_where_they_are_used(
// CHECK-DAG: arith.constant {{.*}}[#shoal.sharding<@mesh, [{"x"}, {}]>]{{.*}} dense<1.0
// CHECK-DAG: arith.constant {{.*}}[#shoal.sharding<@mesh, [{}, {"x"}]>]{{.*}} dense<1.0
// CHECK-NOT: arith.constant
// CHECK-NOT: shoal.reshard
func.func @constants_are_made_where_they_are_used(
    %a: tensor<8x16xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {} ]>},
    %b: tensor<8x16xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"} ]>})
    -> (tensor<8x16xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {} ]>},
        tensor<8x16xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"} ]>},
        tensor<8x16xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {} ]>}) {
  %one = arith.constant dense<1.0> : tensor<8x16xf32>
  %c = arith.addf %a, %one : tensor<8x16xf32>
  %d = arith.addf %b, %one : tensor<8x16xf32>
  %e = arith.mulf %c, %one : tensor<8x16xf32>
  return %c, %d, %e : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>
}

// CHECK-LABEL: func @open_dimensions_keep_what_they_have(
// CHECK: shoal.sharding_constraint
// CHECK-SAME: shoal.shardings = [#shoal.sharding<@mesh, [{"y", "x"}, {}]>]
// CHECK-NOT: shoal.reshard
func.func @open_dimensions_keep_what_they_have(
    %x: tensor<8x16xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y", "x"}, {} ]>}) -> tensor<8x16xf32> {
  %y = shoal.sharding_constraint %x <@mesh, [{"y", ?}, {} ]> : tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// CHECK-LABEL: func @an_argument_may_be_returned(
// CHECK-SAME: %[[X:[a-z0-9]+]]:
// CHECK: %[[Y:.*]] = shoal.reshard %[[X]] <@mesh, [{"y"}]> -> <@mesh, [{}]>
// CHECK: return %[[Y]], %[[X]]
func.func @an_argument_may_be_returned(%x: tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}]>})
    -> (tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>}, tensor<8xf32>) {
  return %x, %x : tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: func @axes_of_one_device_split_nothing(
// CHECK-SAME: {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}
// CHECK-NOT: shoal.reshard
func.func @axes_of_one_device_split_nothing(%x: tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"one", "x"}]>})
    -> (tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x", "one"}]>}) {
  %y = math.exp %x : tensor<8xf32>
  return %y : tensor<8xf32>
}

// An annotation that only asks: taken where it costs nothing, not where it does.
// CHECK-LABEL: func @hint_taken(
// CHECK-SAME: %{{.*}}: tensor<8x16xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y"}]>}
// CHECK-NOT: shoal.reshard
// CHECK: return
func.func @hint_taken(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %a = shoal.sharding_constraint %x <@mesh, [{}, {"y"}]> {hint} : tensor<8x16xf32>
  %b = arith.addf %a, %a : tensor<8x16xf32>
  return %b : tensor<8x16xf32>
}

// CHECK-LABEL: func @hint_declined(
// CHECK-NOT: shoal.reshard
// CHECK: shoal.sharding_constraint %{{.*}} <@mesh, [{}, {"y"}]> {hint, {{.*}}<@mesh, [{"x"}, {}]>
// CHECK-NOT: shoal.reshard
// CHECK: return
func.func @hint_declined(%x: tensor<8x16xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x16xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %a = shoal.sharding_constraint %x <@mesh, [{}, {"y"}]> {hint} : tensor<8x16xf32>
  return %a : tensor<8x16xf32>
}
