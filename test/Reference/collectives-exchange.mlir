// RUN: shoal-run %s --print-shards | FileCheck %s

// Each element is named by its row (tens) and column. 3 x 5 elements.

shoal.mesh @mesh = <["x" = 2, "y" = 2]>
shoal.mesh @turned = <["x" = 2, "y" = 2], device_ids = [3, 0, 1, 2]>

func.func @main() -> (
    tensor<2x3xf32> {shoal.name = "blocks"}, tensor<1x5xf32> {shoal.name = "rows"},
    tensor<3x2xf32> {shoal.name = "turned"}, tensor<3x5xf32> {shoal.name = "whole"}) attributes {shoal.spmd} {
  %row = shoal.iota dim = 0 : tensor<3x5xf32>
  %column = shoal.iota dim = 1 : tensor<3x5xf32>
  %ten = arith.constant dense<10.0> : tensor<3x5xf32>
  %tens = arith.mulf %row, %ten : tensor<3x5xf32>
  %x = arith.addf %tens, %column : tensor<3x5xf32>
  // CHECK-LABEL: blocks on device 0: tensor<2x3xf32> = {{\[\[}}0, 1, 2], [10, 11, 12]]
  // CHECK: blocks on device 1: tensor<2x3xf32> = {{\[\[}}20, 21, 22], [nan, nan, nan]]
  // CHECK: blocks on device 2: tensor<2x3xf32> = {{\[\[}}3, 4, nan], [13, 14, nan]]
  // CHECK: blocks on device 3: tensor<2x3xf32> = {{\[\[}}23, 24, nan], [nan, nan, nan]]
  %0 = spmd.exchange @mesh [{}, {}] -> @mesh [{"y"}, {"x"}] %x shape = [3, 5] : tensor<3x5xf32> -> tensor<2x3xf32>
  // CHECK-LABEL: rows on device 0: tensor<1x5xf32> = {{\[\[}}0, 1, 2, 3, 4]]
  // CHECK: rows on device 1: tensor<1x5xf32> = {{\[\[}}20, 21, 22, 23, 24]]
  // CHECK: rows on device 2: tensor<1x5xf32> = {{\[\[}}10, 11, 12, 13, 14]]
  // CHECK: rows on device 3: tensor<1x5xf32> = {{\[\[}}nan, nan, nan, nan, nan]]
  %1 = spmd.exchange @mesh [{"y"}, {"x"}] -> @mesh [{"y", "x"}, {}] %0 shape = [3, 5] : tensor<2x3xf32> -> tensor<1x5xf32>
  // Position 0 of the other mesh is device 3.
  // CHECK-LABEL: turned on device 0: tensor<3x2xf32> = {{\[\[}}2, 3], [12, 13], [22, 23]]
  // CHECK: turned on device 1: tensor<3x2xf32> = {{\[\[}}4, nan], [14, nan], [24, nan]]
  // CHECK: turned on device 3: tensor<3x2xf32> = {{\[\[}}0, 1], [10, 11], [20, 21]]
  %2 = spmd.exchange @mesh [{"y", "x"}, {}] -> @turned [{}, {"x", "y"}] %1 shape = [3, 5] : tensor<1x5xf32> -> tensor<3x2xf32>
  // CHECK-LABEL: whole on device 0:
  // CHECK-SAME: {{\[\[}}0, 1, 2, 3, 4], [10, 11, 12, 13, 14], [20, 21, 22, 23, 24]]
  // CHECK: whole on device 2:
  // CHECK-SAME: {{\[\[}}0, 1, 2, 3, 4], [10, 11, 12, 13, 14], [20, 21, 22, 23, 24]]
  %3 = spmd.exchange @turned [{}, {"x", "y"}] -> @turned [{}, {}] %2 shape = [3, 5] : tensor<3x2xf32> -> tensor<3x5xf32>
  return %0, %1, %2, %3 : tensor<2x3xf32>, tensor<1x5xf32>, tensor<3x2xf32>, tensor<3x5xf32>
}
