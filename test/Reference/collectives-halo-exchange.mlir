// RUN: shoal-run %s --print-shards | FileCheck %s

// Device i holds 100 i, 100 i + 1, ... Rows that do not exist are NaN.

shoal.mesh @mesh = <["x" = 2, "y" = 2]>
shoal.mesh @turned = <["x" = 4], device_ids = [3, 1, 0, 2]>

func.func @main() -> (
    tensor<6xf32> {shoal.name = "both_sides"}, tensor<2xf32> {shoal.name = "reversed"},
    tensor<3xf32> {shoal.name = "same"}, tensor<2xf32> {shoal.name = "divided"},
    tensor<3x2xf32> {shoal.name = "minor"}, tensor<3xf32> {shoal.name = "turned"},
    tensor<1xf32> {shoal.name = "empty_shards"}) attributes {shoal.spmd} {
  %device = spmd.axis_index @mesh {"x", "y"} : tensor<i32>
  %f = arith.sitofp %device : tensor<i32> to tensor<f32>
  %i4 = shoal.iota dim = 0 : tensor<4xf32>
  %hundred = arith.constant dense<100.0> : tensor<f32>
  %base = arith.mulf %f, %hundred : tensor<f32>
  %base4 = shoal.broadcast_in_dim %base dims = [] : tensor<f32> -> tensor<4xf32>
  %x = arith.addf %base4, %i4 : tensor<4xf32>

  // CHECK-LABEL: both_sides on device 0: tensor<6xf32> = [nan, 0, 1, 2, 3, 200]
  // CHECK: both_sides on device 1: tensor<6xf32> = [nan, 100, 101, 102, 103, 300]
  // CHECK: both_sides on device 2: tensor<6xf32> = [3, 200, 201, 202, nan, nan]
  %0 = spmd.halo_exchange @mesh {"x"} %x {dim = 0, size = 7, step = 4, offset = -1} : tensor<4xf32> -> tensor<6xf32>
  // 16 rows; device i has the rows of the reversed tensor from 14 - 4i on.
  // CHECK-LABEL: reversed on device 0: tensor<2xf32> = [302, 303]
  // CHECK: reversed on device 1: tensor<2xf32> = [202, 203]
  // CHECK: reversed on device 3: tensor<2xf32> = [2, 3]
  %1 = spmd.halo_exchange @mesh {"x", "y"} %x {dim = 0, size = 16, step = -4, offset = 14} : tensor<4xf32> -> tensor<2xf32>
  // CHECK-LABEL: same on device 0: tensor<3xf32> = [3, 100, 101]
  // CHECK: same on device 3: tensor<3xf32> = [203, 300, 301]
  %2 = spmd.halo_exchange @mesh {"y"} %x {dim = 0, size = 8, step = 0, offset = 3} : tensor<4xf32> -> tensor<3xf32>
  // (5i - 3) / 2, rounded down: -2, 1, 3, 6.
  // CHECK-LABEL: divided on device 0: tensor<2xf32> = [nan, nan]
  // CHECK: divided on device 1: tensor<2xf32> = [1, 2]
  // CHECK: divided on device 2: tensor<2xf32> = [3, 100]
  // CHECK: divided on device 3: tensor<2xf32> = [102, 103]
  %3 = spmd.halo_exchange @mesh {"x", "y"} %x {dim = 0, size = 16, step = 5, offset = -3, divisor = 2} : tensor<4xf32> -> tensor<2xf32>
  // CHECK-LABEL: minor on device 0: tensor<3x2xf32> =
  // CHECK-SAME: {{\[\[}}1, 100], [1, 100], [1, 100]]
  %columns = shoal.slice %x starts = [0] limits = [2] strides = [1] : tensor<4xf32> -> tensor<2xf32>
  %x32 = shoal.broadcast_in_dim %columns dims = [1] : tensor<2xf32> -> tensor<3x2xf32>
  %4 = spmd.halo_exchange @mesh {"y"} %x32 {dim = 1, size = 4, step = 0, offset = 1} : tensor<3x2xf32> -> tensor<3x2xf32>
  // Device 3 has the first rows, then 1, 0, 2. Over more than the next one.
  // CHECK-LABEL: turned on device 0: tensor<3xf32> = [203, nan, nan]
  // CHECK: turned on device 1: tensor<3xf32> = [3, 200, 201]
  // CHECK: turned on device 3: tensor<3xf32> = [103, 0, 1]
  %5 = spmd.halo_exchange @turned {"x"} %x {dim = 0, size = 16, step = 4, offset = 7} : tensor<4xf32> -> tensor<3xf32>
  // 2 rows on 4 devices: the last two have none.
  // CHECK-LABEL: empty_shards on device 0: tensor<1xf32> = [nan]
  // CHECK: empty_shards on device 1: tensor<1xf32> = [0]
  // CHECK: empty_shards on device 2: tensor<1xf32> = [100]
  // CHECK: empty_shards on device 3: tensor<1xf32> = [nan]
  %one = shoal.slice %x starts = [0] limits = [1] strides = [1] : tensor<4xf32> -> tensor<1xf32>
  %6 = spmd.halo_exchange @mesh {"x", "y"} %one {dim = 0, size = 2, step = 1, offset = -1} : tensor<1xf32> -> tensor<1xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<6xf32>, tensor<2xf32>, tensor<3xf32>, tensor<2xf32>, tensor<3x2xf32>, tensor<3xf32>, tensor<1xf32>
}
