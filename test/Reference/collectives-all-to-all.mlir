// RUN: split-file %s %t
// RUN: shoal-run %t/one-axis.mlir --print-shards | FileCheck %t/one-axis.mlir
// RUN: shoal-run %t/two-axes.mlir --print-shards | FileCheck %t/two-axes.mlir

//--- one-axis.mlir

shoal.mesh @mesh = <["x" = 2]>
func.func @main() -> (tensor<2x2xi32> {shoal.name = "even"}, tensor<3x3xf32> {shoal.name = "uneven"},
                      tensor<2x5xf32> {shoal.name = "back"}) attributes {shoal.spmd} {
  // Rows become columns.
  %a = arith.constant dense<[[0, 1, 2, 3], [10, 11, 12, 13]]> : tensor<2x4xi32>
  %rows = spmd.all_slice @mesh [{"x"}, {}] %a : tensor<2x4xi32> -> tensor<1x4xi32>
  // CHECK{LITERAL}: even on device 0: tensor<2x2xi32> = [[0, 1], [10, 11]]
  // CHECK{LITERAL}: even on device 1: tensor<2x2xi32> = [[2, 3], [12, 13]]
  %even = spmd.all_to_all @mesh [{"x"} : 0 -> 1] %rows : tensor<1x4xi32> -> tensor<2x2xi32>

  // 3 x 5: the padding row of device 1 is cut off, its column block is short.
  %b = arith.constant dense<[[0., 1., 2., 3., 4.], [10., 11., 12., 13., 14.], [20., 21., 22., 23., 24.]]> : tensor<3x5xf32>
  %short = spmd.all_slice @mesh [{"x"}, {}] %b : tensor<3x5xf32> -> tensor<2x5xf32>
  // CHECK{LITERAL}: uneven on device 0: tensor<3x3xf32> = [[0, 1, 2], [10, 11, 12], [20, 21, 22]]
  // CHECK{LITERAL}: uneven on device 1: tensor<3x3xf32> = [[3, 4, nan], [13, 14, nan], [23, 24, nan]]
  %uneven = spmd.all_to_all @mesh [{"x"} : 0 -> 1] %short : tensor<2x5xf32> -> tensor<3x3xf32>
  // CHECK{LITERAL}: back on device 0: tensor<2x5xf32> = [[0, 1, 2, 3, 4], [10, 11, 12, 13, 14]]
  // CHECK{LITERAL}: back on device 1: tensor<2x5xf32> = [[20, 21, 22, 23, 24], [nan, nan, nan, nan, nan]]
  %back = spmd.all_to_all @mesh [{"x"} : 1 -> 0] %uneven : tensor<3x3xf32> -> tensor<2x5xf32>
  return %even, %uneven, %back : tensor<2x2xi32>, tensor<3x3xf32>, tensor<2x5xf32>
}

//--- two-axes.mlir

shoal.mesh @mesh = <["x" = 2, "y" = 2]>
func.func @main() -> (
    tensor<2x4xi32> {shoal.name = "in_groups"}, tensor<4x1xi32> {shoal.name = "joint"},
    tensor<4x1xi32> {shoal.name = "joint_yx"},
    tensor<2x2x1xi32> {shoal.name = "one_target"}, tensor<4x1x1xi32> {shoal.name = "one_source"}) attributes {shoal.spmd} {
  %a = arith.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]]> : tensor<4x4xi32>
  %tile = spmd.all_slice @mesh [{"x"}, {"y"}] %a : tensor<4x4xi32> -> tensor<2x2xi32>

  // y leaves the columns for the rows, under x: groups {0, 1} and {2, 3}.
  %quarter = spmd.all_to_all @mesh [{"y"} : 1 -> 0] %tile : tensor<2x2xi32> -> tensor<1x4xi32>
  // CHECK{LITERAL}: in_groups on device 0: tensor<2x4xi32> = [[0, 1, 2, 3], [4, 5, 6, 7]]
  // CHECK{LITERAL}: in_groups on device 1: tensor<2x4xi32> = [[0, 1, 2, 3], [4, 5, 6, 7]]
  // CHECK{LITERAL}: in_groups on device 2: tensor<2x4xi32> = [[8, 9, 10, 11], [12, 13, 14, 15]]
  // CHECK{LITERAL}: in_groups on device 3: tensor<2x4xi32> = [[8, 9, 10, 11], [12, 13, 14, 15]]
  %in_groups = spmd.all_gather @mesh [{"y"}, {}] %quarter : tensor<1x4xi32> -> tensor<2x4xi32>

  // Both axes in one move: device i over (x, y) gets column i.
  %rows = spmd.all_slice @mesh [{"x", "y"}, {}] %a : tensor<4x4xi32> -> tensor<1x4xi32>
  // CHECK{LITERAL}: joint on device 0: tensor<4x1xi32> = [[0], [4], [8], [12]]
  // CHECK{LITERAL}: joint on device 1: tensor<4x1xi32> = [[1], [5], [9], [13]]
  // CHECK{LITERAL}: joint on device 2: tensor<4x1xi32> = [[2], [6], [10], [14]]
  // CHECK{LITERAL}: joint on device 3: tensor<4x1xi32> = [[3], [7], [11], [15]]
  %joint = spmd.all_to_all @mesh [{"x", "y"} : 0 -> 1] %rows : tensor<1x4xi32> -> tensor<4x1xi32>
  // With y major, devices 1 and 2 change places, in the rows and the columns.
  %rows_yx = spmd.all_slice @mesh [{"y", "x"}, {}] %a : tensor<4x4xi32> -> tensor<1x4xi32>
  // CHECK{LITERAL}: joint_yx on device 1: tensor<4x1xi32> = [[2], [6], [10], [14]]
  // CHECK{LITERAL}: joint_yx on device 2: tensor<4x1xi32> = [[1], [5], [9], [13]]
  %joint_yx = spmd.all_to_all @mesh [{"y", "x"} : 0 -> 1] %rows_yx : tensor<1x4xi32> -> tensor<4x1xi32>

  // Two moves meet in dimension 2, x major: device i gets element i of each.
  %c = shoal.reshape %a : tensor<4x4xi32> -> tensor<2x2x4xi32>
  %c_tile = spmd.all_slice @mesh [{"x"}, {"y"}, {}] %c : tensor<2x2x4xi32> -> tensor<1x1x4xi32>
  // CHECK{LITERAL}: one_target on device 0: tensor<2x2x1xi32> = [[[0], [4]], [[8], [12]]]
  // CHECK{LITERAL}: one_target on device 1: tensor<2x2x1xi32> = [[[1], [5]], [[9], [13]]]
  // CHECK{LITERAL}: one_target on device 2: tensor<2x2x1xi32> = [[[2], [6]], [[10], [14]]]
  %one_target = spmd.all_to_all @mesh [{"x"} : 0 -> 2, {"y"} : 1 -> 2] %c_tile : tensor<1x1x4xi32> -> tensor<2x2x1xi32>

  // Two moves leave dimension 0: device (x, y) gets [:, x, y].
  %d = shoal.reshape %a : tensor<4x4xi32> -> tensor<4x2x2xi32>
  %d_rows = spmd.all_slice @mesh [{"x", "y"}, {}, {}] %d : tensor<4x2x2xi32> -> tensor<1x2x2xi32>
  // CHECK{LITERAL}: one_source on device 1: tensor<4x1x1xi32> = [[[1]], [[5]], [[9]], [[13]]]
  // CHECK{LITERAL}: one_source on device 2: tensor<4x1x1xi32> = [[[2]], [[6]], [[10]], [[14]]]
  %one_source = spmd.all_to_all @mesh [{"x"} : 0 -> 1, {"y"} : 0 -> 2] %d_rows : tensor<1x2x2xi32> -> tensor<4x1x1xi32>
  return %in_groups, %joint, %joint_yx, %one_target, %one_source
    : tensor<2x4xi32>, tensor<4x1xi32>, tensor<4x1xi32>, tensor<2x2x1xi32>, tensor<4x1x1xi32>
}
