// RUN: shoal-opt %s --shoal-partition --shoal-insert-checks="nan inf replicas" | FileCheck %s
// RUN: shoal-opt %s --shoal-partition --shoal-insert-checks=nan | FileCheck %s --check-prefix=NAN

// Ops that the partitioner made are not checked; what the ops of the program
// were made from is found behind them.

// CHECK-LABEL: func.func @values_know_what_they_are_made_from
// CHECK: rt.check 0 input "x" at "{{.*}}insert-checks.mlir:[[# @LINE + 14]]:48" <@mesh, [{"x"}, {}]> of [8, 4] sources [] ins(%{{.*}} : tensor<4x4xf32>) {inf, nan}
// CHECK-NEXT: rt.check 1 input "n" {{.*}} sources [] ins(%{{.*}} : tensor<i32>) {replicas}
// CHECK: %[[LOG:.*]] = math.log
// CHECK-NEXT: rt.check 2 made "math.log" at "{{.*}}:[[# @LINE + 12]]:8" <@mesh, [{"x"}, {}]> of [8, 4] sources [0] ins(%[[LOG]] : tensor<4x4xf32>) {inf, nan}
// A sum that is not reduced yet is another one on each device.
// CHECK: rt.check 3 made "shoal.reduce" {{.*}} <@mesh, []> of [] varying {"x"} sources [2] {{.*}} {inf, nan}
// CHECK: rt.check 4 made "arith.mulf" {{.*}} varying {"x"} sources [3] {{.*}} {assumes_inf, inf, nan}
// CHECK: spmd.all_reduce
// CHECK-NEXT: rt.check 5 made "spmd.all_reduce" {{.*}} <@mesh, []> of [] sources [4] {{.*}} {inf, nan, replicas}

// NAN: rt.check 0 {{.*}} {nan}
// NAN-NOT: rt.check 1
// NAN: rt.check 2 {{.*}} {nan}
shoal.mesh @mesh = <["x" = 2]>
func.func @values_know_what_they_are_made_from(%x: tensor<8x4xf32> {shoal.name = "x", shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}, %n: tensor<i32> {shoal.name = "n"}) -> tensor<f32> {
  %l = math.log %x : tensor<8x4xf32>
  %s = shoal.reduce sum %l dims = [0, 1] : tensor<8x4xf32> -> tensor<f32>
  %inf = arith.constant dense<0x7F800000> : tensor<f32>
  %y = arith.mulf %s, %inf : tensor<f32>
  return %y : tensor<f32>
}
