// RUN: shoal-opt %s --shoal-propagate | FileCheck %s

// What annotations suggest goes both ways, and says where it came from.

shoal.mesh @mesh = <["x" = 2, "y" = 4]>

// CHECK-LABEL: func @rows_and_columns_reach_the_product(
// CHECK-SAME: shoal.argument_hints = [#shoal.sharding<@mesh, [{"x"}, {}]>, #shoal.sharding<@mesh, [{}, {"y"}]>]
// CHECK-SAME: shoal.argument_origins = ["x: from argument 0 \22a\22 at {{[^,]*}}propagate.mlir:{{[0-9:]+}}", "y: from argument 1 at {{.*}}"]
// CHECK: shoal.einsum
// CHECK-SAME: shoal.origin = ["x: from argument 0 \22a\22 at {{.*}} via shoal.einsum \22IK,KJ->IJ\22; y: from argument 1 at {{.*}} via shoal.einsum \22IK,KJ->IJ\22"]
// CHECK-SAME: shoal.shardings = [#shoal.sharding<@mesh, [{"x"}, {"y"}]>]
// CHECK: math.exp
// CHECK-SAME: x: from argument 0 \22a\22 at {{[^;]*}} via shoal.einsum \22IK,KJ->IJ\22, math.exp;
func.func @rows_and_columns_reach_the_product(
    %a: tensor<8x16xf32> {shoal.name = "a", shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {} ]>},
    %b: tensor<16x32xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y"} ]>}) -> tensor<8x32xf32> {
  %c = shoal.einsum "IK,KJ->IJ" %a, %b : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %d = math.exp %c : tensor<8x32xf32>
  return %d : tensor<8x32xf32>
}

// An argument without annotation takes the hint from behind, as a hint only.
// CHECK-LABEL: func @backward_from_the_result(
// CHECK-NOT: shoal.sharding =
// CHECK-SAME: -> (tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}]>})
// CHECK-SAME: shoal.argument_hints = [#shoal.sharding<@mesh, [{"y"}]>]
// CHECK-SAME: shoal.argument_origins = ["y: from result 0 of @backward_from_the_result via math.exp"]
func.func @backward_from_the_result(%x: tensor<8xf32>)
    -> (tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}]>}) {
  %y = math.exp %x : tensor<8xf32>
  return %y : tensor<8xf32>
}

// CHECK-LABEL: func @user_priority_goes_first(
// CHECK: arith.addf
// CHECK-SAME: shoal.shardings = [#shoal.sharding<@mesh, [{}, {"x"}]>]
func.func @user_priority_goes_first(
    %a: tensor<8x16xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}p1, {} ]>},
    %b: tensor<8x16xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"} ]>}) -> tensor<8x16xf32> {
  %c = arith.addf %a, %b : tensor<8x16xf32>
  return %c : tensor<8x16xf32>
}

// CHECK-LABEL: func @sub_axes_are_axes(
// CHECK: math.exp
// CHECK-SAME: shoal.origin = ["y:(1)2: from argument 0
// CHECK-SAME: shoal.shardings = [#shoal.sharding<@mesh, [{"y":(1)2}]>]
func.func @sub_axes_are_axes(%x: tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y":(1)2}]>}) -> tensor<8xf32> {
  %y = math.exp %x : tensor<8xf32>
  return %y : tensor<8xf32>
}
