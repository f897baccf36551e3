// RUN: shoal-run %s --random-inputs=3 --compare | FileCheck %s
// RUN: shoal-opt %s --shoal-partition | FileCheck %s --check-prefix=LOCAL

// The region is written for a device along "m"; the columns of the rows are
// split along "a". Device i sends i + 1 rows to the device in front of it,
// around the end, and 1 to itself; the others of its output stay.
// CHECK: result0: {{.*}}: ok
// LOCAL: spmd.ragged_all_to_all @mesh {"m"} {{.*}} : tensor<4x3xf32> into tensor<5x3xf32>, tensor<2xi32>

shoal.mesh @mesh = <["m" = 2, "a" = 2]>
func.func @main(%x: tensor<8x6xf32>, %y: tensor<10x6xf32>) -> tensor<10x6xf32> {
  %z = shoal.manual_computation @mesh {"m"} (%x, %y)
      in [#shoal.sharding<@mesh, [{"m"}, {"a"}]>, #shoal.sharding<@mesh, [{"m"}, {"a"}]>]
      out [#shoal.sharding<@mesh, [{"m"}, {"a"}]>] {
  ^bb0(%xl: tensor<4x6xf32>, %yl: tensor<5x6xf32>):
    %table = arith.constant dense<[[0, 1], [0, 2]]> : tensor<2x2xi32>
    %counts = arith.constant dense<[[1, 1], [2, 1]]> : tensor<2x2xi32>
    %places = arith.constant dense<[[0, 4], [2, 0]]> : tensor<2x2xi32>
    %sizes = arith.constant dense<[[1, 2], [1, 1]]> : tensor<2x2xi32>
    %0 = spmd.all_slice @mesh [{"m"}, {}] %table : tensor<2x2xi32> -> tensor<1x2xi32>
    %1 = spmd.all_slice @mesh [{"m"}, {}] %counts : tensor<2x2xi32> -> tensor<1x2xi32>
    %2 = spmd.all_slice @mesh [{"m"}, {}] %places : tensor<2x2xi32> -> tensor<1x2xi32>
    %3 = spmd.all_slice @mesh [{"m"}, {}] %sizes : tensor<2x2xi32> -> tensor<1x2xi32>
    %from = shoal.reshape %0 : tensor<1x2xi32> -> tensor<2xi32>
    %count = shoal.reshape %1 : tensor<1x2xi32> -> tensor<2xi32>
    %to = shoal.reshape %2 : tensor<1x2xi32> -> tensor<2xi32>
    %come = shoal.reshape %3 : tensor<1x2xi32> -> tensor<2xi32>
    %rows = spmd.ragged_all_to_all @mesh {"m"} %xl into %yl send(%from, %count) to(%to) receive(%come)
        : tensor<4x6xf32> into tensor<5x6xf32>, tensor<2xi32>
    shoal.yield %rows : tensor<5x6xf32>
  } : (tensor<8x6xf32>, tensor<10x6xf32>) -> tensor<10x6xf32>
  return %z : tensor<10x6xf32>
}
