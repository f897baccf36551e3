// RUN: shoal-opt %s --shoal-partition --shoal-insert-checks=nan | FileCheck %s

// CHECK-LABEL: func.func @loops_tell_their_iteration
// CHECK: rt.iteration begin 0 at "{{.*}}:[[# @LINE + 14]]:10"
// CHECK-NEXT: shoal.while
// CHECK-NEXT: rt.iteration next 0
// CHECK-NEXT: rt.check {{[0-9]+}} joined "shoal.while" {{.*}} : tensor<4xf32>)
// CHECK: do {
// CHECK-NEXT: rt.check [[BODY:[0-9]+]] joined "shoal.while"
// CHECK: rt.check {{[0-9]+}} made "math.sqrt" {{.*}} sources [[[BODY]]]
// CHECK: {{^ +\}$}}
// CHECK-NEXT: rt.iteration end 0
// CHECK-NEXT: rt.check {{[0-9]+}} joined "shoal.while"
shoal.mesh @mesh = <["x" = 2]>
func.func @loops_tell_their_iteration(%x: tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}, %n: tensor<i32>) -> tensor<8xf32> {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %r:2 = shoal.while (%i = %zero, %a = %x) : tensor<i32>, tensor<8xf32> cond {
    %more = arith.cmpi slt, %i, %n : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %next = arith.addi %i, %one : tensor<i32>
    %b = math.sqrt %a : tensor<8xf32>
    shoal.yield %next, %b : tensor<i32>, tensor<8xf32>
  }
  return %r#1 : tensor<8xf32>
}
