// RUN: split-file %s %t
// RUN: shoal-run %t/axis-index.mlir --print-shards | FileCheck %t/axis-index.mlir
// RUN: shoal-run %t/even.mlir --print-shards | FileCheck %t/even.mlir
// RUN: shoal-run %t/uneven.mlir --print-shards | FileCheck %t/uneven.mlir

//--- axis-index.mlir

// Device 5 stands at (1, 1): {"y", "x"} reads 1 * 2 + 1. The sub-axes of y are
// its two binary digits.
shoal.mesh @mesh = <["x" = 2, "y" = 4]>
// Position 0 is device 7, position 7 device 0.
shoal.mesh @reversed = <["x" = 2, "y" = 4], device_ids = [7, 6, 5, 4, 3, 2, 1, 0]>
func.func @main() -> (
    tensor<i32> {shoal.name = "yx"}, tensor<i32> {shoal.name = "high"}, tensor<i32> {shoal.name = "low"},
    tensor<i32> {shoal.name = "low_x"}, tensor<i32> {shoal.name = "xy_reversed"}) attributes {shoal.spmd} {
  // CHECK: yx on device 0: tensor<i32> = 0
  // CHECK: yx on device 1: tensor<i32> = 2
  // CHECK: yx on device 4: tensor<i32> = 1
  // CHECK: yx on device 5: tensor<i32> = 3
  // CHECK: yx on device 7: tensor<i32> = 7
  %yx = spmd.axis_index @mesh {"y", "x"} : tensor<i32>
  // CHECK: high on device 1: tensor<i32> = 0
  // CHECK: high on device 2: tensor<i32> = 1
  // CHECK: high on device 7: tensor<i32> = 1
  %high = spmd.axis_index @mesh {"y":(1)2} : tensor<i32>
  // CHECK: low on device 1: tensor<i32> = 1
  // CHECK: low on device 2: tensor<i32> = 0
  // CHECK: low on device 7: tensor<i32> = 1
  %low = spmd.axis_index @mesh {"y":(2)2} : tensor<i32>
  // CHECK: low_x on device 4: tensor<i32> = 1
  // CHECK: low_x on device 5: tensor<i32> = 3
  %low_x = spmd.axis_index @mesh {"y":(2)2, "x"} : tensor<i32>
  // CHECK: xy_reversed on device 0: tensor<i32> = 7
  // CHECK: xy_reversed on device 6: tensor<i32> = 1
  %xy_reversed = spmd.axis_index @reversed {"x", "y"} : tensor<i32>
  return %yx, %high, %low, %low_x, %xy_reversed : tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>
}

//--- even.mlir

shoal.mesh @mesh = <["x" = 2, "y" = 2]>
func.func @main() -> (
    tensor<2x1xi32> {shoal.name = "tile"}, tensor<1x2xi32> {shoal.name = "row"},
    tensor<4x1xi32> {shoal.name = "rows_back"}, tensor<4x2xi32> {shoal.name = "back"},
    tensor<2x2xi32> {shoal.name = "mixed"}) attributes {shoal.spmd} {
  %a = arith.constant dense<[[0, 1], [2, 3], [4, 5], [6, 7]]> : tensor<4x2xi32>
  // CHECK{LITERAL}: tile on device 0: tensor<2x1xi32> = [[0], [2]]
  // CHECK{LITERAL}: tile on device 1: tensor<2x1xi32> = [[1], [3]]
  // CHECK{LITERAL}: tile on device 2: tensor<2x1xi32> = [[4], [6]]
  // CHECK{LITERAL}: tile on device 3: tensor<2x1xi32> = [[5], [7]]
  %tile = spmd.all_slice @mesh [{"x"}, {"y"}] %a : tensor<4x2xi32> -> tensor<2x1xi32>
  // y is the major axis: device 1 at (0, 1) has row 2.
  // CHECK{LITERAL}: row on device 0: tensor<1x2xi32> = [[0, 1]]
  // CHECK{LITERAL}: row on device 1: tensor<1x2xi32> = [[4, 5]]
  // CHECK{LITERAL}: row on device 2: tensor<1x2xi32> = [[2, 3]]
  // CHECK{LITERAL}: row on device 3: tensor<1x2xi32> = [[6, 7]]
  %row = spmd.all_slice @mesh [{"y", "x"}, {}] %a : tensor<4x2xi32> -> tensor<1x2xi32>
  // Groups {0, 2} and {1, 3}.
  // CHECK{LITERAL}: rows_back on device 0: tensor<4x1xi32> = [[0], [2], [4], [6]]
  // CHECK{LITERAL}: rows_back on device 1: tensor<4x1xi32> = [[1], [3], [5], [7]]
  // CHECK{LITERAL}: rows_back on device 2: tensor<4x1xi32> = [[0], [2], [4], [6]]
  // CHECK{LITERAL}: rows_back on device 3: tensor<4x1xi32> = [[1], [3], [5], [7]]
  %rows_back = spmd.all_gather @mesh [{"x"}, {}] %tile : tensor<2x1xi32> -> tensor<4x1xi32>
  // CHECK-COUNT-4: back on device {{.}}: tensor<4x2xi32> = {{\[\[0, 1\], \[2, 3\], \[4, 5\], \[6, 7\]\]}}
  %back = spmd.all_gather @mesh [{"x"}, {"y"}] %tile : tensor<2x1xi32> -> tensor<4x2xi32>
  // Over x alone the rows (0, 2) and (4, 6) of the other order come together.
  // CHECK{LITERAL}: mixed on device 0: tensor<2x2xi32> = [[0, 1], [2, 3]]
  // CHECK{LITERAL}: mixed on device 1: tensor<2x2xi32> = [[4, 5], [6, 7]]
  // CHECK{LITERAL}: mixed on device 2: tensor<2x2xi32> = [[0, 1], [2, 3]]
  // CHECK{LITERAL}: mixed on device 3: tensor<2x2xi32> = [[4, 5], [6, 7]]
  %mixed = spmd.all_gather @mesh [{"x"}, {}] %row : tensor<1x2xi32> -> tensor<2x2xi32>
  return %tile, %row, %rows_back, %back, %mixed : tensor<2x1xi32>, tensor<1x2xi32>, tensor<4x1xi32>, tensor<4x2xi32>, tensor<2x2xi32>
}

//--- uneven.mlir

// 5 rows over 4 devices: shards of 2, the last is empty. Rows past the end are
// NaN, or bytes 0x5A: 90 in i8, 1 in i1.
shoal.mesh @mesh = <["x" = 2, "y" = 2]>
func.func @main() -> (
    tensor<2xf32> {shoal.name = "shard"}, tensor<5xf32> {shoal.name = "back"},
    tensor<2xi8> {shoal.name = "integers"}, tensor<2xi1> {shoal.name = "bits"},
    tensor<2x2xf32> {shoal.name = "corner"}) attributes {shoal.spmd} {
  %a = arith.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0]> : tensor<5xf32>
  // CHECK: shard on device 0: tensor<2xf32> = [0, 1]
  // CHECK: shard on device 1: tensor<2xf32> = [2, 3]
  // CHECK: shard on device 2: tensor<2xf32> = [4, nan]
  // CHECK: shard on device 3: tensor<2xf32> = [nan, nan]
  %shard = spmd.all_slice @mesh [{"x", "y"}] %a : tensor<5xf32> -> tensor<2xf32>
  // CHECK-COUNT-4: back on device {{.}}: tensor<5xf32> = [0, 1, 2, 3, 4]
  %back = spmd.all_gather @mesh [{"x", "y"}] %shard : tensor<2xf32> -> tensor<5xf32>
  %i = arith.constant dense<[0, 1, 2, 3, 4]> : tensor<5xi8>
  // CHECK: integers on device 2: tensor<2xi8> = [4, 90]
  // CHECK: integers on device 3: tensor<2xi8> = [90, 90]
  %integers = spmd.all_slice @mesh [{"x", "y"}] %i : tensor<5xi8> -> tensor<2xi8>
  %b = arith.constant dense<false> : tensor<5xi1>
  // CHECK: bits on device 2: tensor<2xi1> = [0, 1]
  %bits = spmd.all_slice @mesh [{"x", "y"}] %b : tensor<5xi1> -> tensor<2xi1>
  %m = arith.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 8.0]]> : tensor<3x3xf32>
  // CHECK{LITERAL}: corner on device 1: tensor<2x2xf32> = [[2, nan], [5, nan]]
  // CHECK{LITERAL}: corner on device 2: tensor<2x2xf32> = [[6, 7], [nan, nan]]
  // CHECK{LITERAL}: corner on device 3: tensor<2x2xf32> = [[8, nan], [nan, nan]]
  %corner = spmd.all_slice @mesh [{"x"}, {"y"}] %m : tensor<3x3xf32> -> tensor<2x2xf32>
  return %shard, %back, %integers, %bits, %corner : tensor<2xf32>, tensor<5xf32>, tensor<2xi8>, tensor<2xi1>, tensor<2x2xf32>
}
