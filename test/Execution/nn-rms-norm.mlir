// RUN: shoal-run %s --print | FileCheck %s
// RUN: shoal-run %s --devices=2 --compare
// RUN: shoal-opt %s --shoal-import --shoal-partition=flops-per-byte=1000 | FileCheck %s --check-prefix=SENT

// rms_norm by hand, along a dimension that two devices split unevenly. They share
// the rows for the sums of squares, and get the roots.

shoal.mesh @mesh = <["x" = 2]>
// SENT: spmd.reduce_scatter {{.*}} : tensor<2xf32> -> tensor<1xf32>
// SENT: %[[ROOT:.*]] = math.rsqrt {{.*}} : tensor<1xf32>
// SENT: spmd.all_gather {{.*}} %[[ROOT]] {{.*}} : tensor<1xf32> -> tensor<2xf32>
func.func @main() -> (tensor<2x5xf32> {shoal.name = "y", shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>}) {
  // Mean squares of 25 and 4.
  %x = arith.constant dense<[[1.0, 7.0, 5.0, 5.0, 5.0], [2.0, -2.0, 2.0, 2.0, -2.0]]> : tensor<2x5xf32>
  %split = shoal.sharding_constraint %x <@mesh, [{}, {"x"}]> : tensor<2x5xf32>
  %scale = arith.constant dense<[1.0, 2.0, 4.0, 8.0, 0.0]> : tensor<5xf32>
  // CHECK{LITERAL}: y: tensor<2x5xf32> = [[0.2, 2.8, 4, 8, 0], [1, -2, 4, 8, -0]]
  %y = shoal.rms_norm %split, %scale {axis = 1, epsilon = 0.0} : tensor<2x5xf32>, tensor<5xf32>
  return %y : tensor<2x5xf32>
}
