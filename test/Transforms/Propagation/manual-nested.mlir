// RUN: shoal-opt %s --shoal-assign --shoal-verify-assignment --shoal-explain --split-input-file -o /dev/null 2>&1 | FileCheck %s
// RUN: shoal-opt %s --shoal-assign --split-input-file | FileCheck %s --check-prefix=MESH

// Along an axis that is manual in neither region, an annotation goes on through
// both edges, in and out; the outer region partitions along the inner one's.

// CHECK-LABEL: @through
// CHECK: argument 0 : tensor<8x12xf32> <@mesh, [{"m"}, {"n", "a"}]>
// CHECK: %0 = shoal.manual_computation : tensor<8x12xf32> <@mesh, [{"m"}, {"n", "a"}]>
// CHECK: region 0 (%arg1 : tensor<4x12xf32> <@mesh, [{}, {"n", "a"}]>)
// CHECK: math.exp : tensor<4x12xf32> <@mesh, [{}, {"n", "a"}]>
// CHECK: region 0 (%arg2 : tensor<4x6xf32> <@mesh, [{}, {"a"}]>)
// CHECK: math.tanh : tensor<4x6xf32> <@mesh, [{}, {"a"}]>  [a: from shoal.sharding_constraint
// CHECK: reshards send 0 bytes per device
shoal.mesh @mesh = <["m" = 2, "n" = 2, "a" = 3]>
func.func @through(%x: tensor<8x12xf32>) -> tensor<8x12xf32> {
  %y = shoal.manual_computation @mesh {"m"} (%x)
      in [#shoal.sharding<@mesh, [{"m"}, {?}]>] out [#shoal.sharding<@mesh, [{"m"}, {?}]>] {
  ^bb0(%l: tensor<4x12xf32>):
    %e = math.exp %l : tensor<4x12xf32>
    %z = shoal.manual_computation @mesh {"n"} (%e)
        in [#shoal.sharding<@mesh, [{?}, {"n", ?}]>] out [#shoal.sharding<@mesh, [{?}, {"n", ?}]>] {
    ^bb0(%k: tensor<4x6xf32>):
      %t = math.tanh %k : tensor<4x6xf32>
      %c = shoal.sharding_constraint %t <@mesh, [{}, {"a"}]> : tensor<4x6xf32>
      shoal.yield %c : tensor<4x6xf32>
    } : (tensor<4x12xf32>) -> tensor<4x12xf32>
    shoal.yield %z : tensor<4x12xf32>
  } : (tensor<8x12xf32>) -> tensor<8x12xf32>
  return %y : tensor<8x12xf32>
}

// -----

// 7 rows on 2 devices are 4 each: "a" may split these, but not the 5 of 9.

// CHECK-LABEL: @uneven
// CHECK: argument 0 : tensor<7x4xf32> <@mesh, [{"m", "a"}, {}]>
// CHECK: argument 1 : tensor<9x4xf32> <@mesh, [{"m"}, {}]>
shoal.mesh @mesh = <["m" = 2, "a" = 2]>
func.func @uneven(%x: tensor<7x4xf32>, %y: tensor<9x4xf32>) -> (tensor<7x4xf32>, tensor<9x4xf32>) {
  %r:2 = shoal.manual_computation @mesh {"m"} (%x, %y)
      in [#shoal.sharding<@mesh, [{"m", ?}, {}]>, #shoal.sharding<@mesh, [{"m", ?}, {}]>]
      out [#shoal.sharding<@mesh, [{"m", ?}, {}]>, #shoal.sharding<@mesh, [{"m", ?}, {}]>] {
  ^bb0(%k: tensor<4x4xf32>, %l: tensor<5x4xf32>):
    %c = shoal.sharding_constraint %k <@mesh, [{"a"}, {}]> : tensor<4x4xf32>
    %d = shoal.sharding_constraint %l <@mesh, [{"a"}, {}]> : tensor<5x4xf32>
    shoal.yield %c, %d : tensor<4x4xf32>, tensor<5x4xf32>
  } : (tensor<7x4xf32>, tensor<9x4xf32>) -> (tensor<7x4xf32>, tensor<9x4xf32>)
  return %r#0, %r#1 : tensor<7x4xf32>, tensor<9x4xf32>
}

// -----

// In a region shardings name its mesh, also where another one of the same order
// comes first.

// MESH-LABEL: @same_order
// MESH: arith.constant {{.*}}shoal.shardings = [#shoal.sharding<@other, []>]
// MESH: spmd.all_reduce {{.*}}shoal.shardings = [#shoal.sharding<@other, []>]
shoal.mesh @mesh = <["x" = 2]>
shoal.mesh @other = <["x" = 2], device_ids = [0, 1]>
func.func @same_order(%x: tensor<2xf32>) -> tensor<f32> {
  %y = shoal.manual_computation @other {"x"} (%x) in [#shoal.sharding<@other, [{}]>] out [#shoal.sharding<@other, []>] {
  ^bb0(%l: tensor<2xf32>):
    %c = arith.constant dense<1.0> : tensor<f32>
    %s = spmd.all_reduce sum @other {"x"} %c : tensor<f32>
    shoal.yield %s : tensor<f32>
  } : (tensor<2xf32>) -> tensor<f32>
  return %y : tensor<f32>
}
