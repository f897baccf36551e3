// RUN: shoal-opt %s --shoal-combine-collectives --shoal-verify-collectives | FileCheck %s

shoal.mesh @mesh = <["x" = 2, "y" = 2]>

// The loop's condition depends on the first one, which is the same everywhere;
// the others differ along "x". In one message with these the devices could no
// longer prove that they run the loop, and the collective in it, equally often.
// CHECK-LABEL: @condition_is_not_combined
// CHECK: spmd.all_reduce sum @mesh {"y"} %arg0 : tensor<i32>
// CHECK: spmd.all_reduce sum @mesh {"y"} {{.*}}2 combined{{.*}} : tensor<1x8xi32>
// CHECK: shoal.while
func.func @condition_is_not_combined(%a: tensor<i32> {shoal.sharding = #shoal.sharding<@mesh, [], partial = {"y"}>},
    %b: tensor<3xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}], partial = {"y"}>},
    %c: tensor<5xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}], partial = {"y"}>},
    %d: tensor<2xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>})
    -> (tensor<3xi32>, tensor<5xi32>, tensor<2xf32>) attributes {shoal.spmd} {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %0 = spmd.all_reduce sum @mesh {"y"} %a : tensor<i32>
  %1 = spmd.all_reduce sum @mesh {"y"} %b : tensor<3xi32>
  %2 = spmd.all_reduce sum @mesh {"y"} %c : tensor<5xi32>
  %3:2 = shoal.while (%i = %zero, %v = %d) : tensor<i32>, tensor<2xf32> cond {
    %4 = arith.cmpi slt, %i, %0 : tensor<i32>
    shoal.yield %4 : tensor<i1>
  } do {
    %4 = arith.addi %i, %one : tensor<i32>
    %5 = spmd.all_reduce sum @mesh {"x"} %v : tensor<2xf32>
    shoal.yield %4, %5 : tensor<i32>, tensor<2xf32>
  }
  return %1, %2, %3#1 : tensor<3xi32>, tensor<5xi32>, tensor<2xf32>
}
