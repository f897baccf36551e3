// RUN: shoal-run %s --print | FileCheck %s

shoal.mesh @mesh = <["x" = 2]>

func.func @main() -> (
    tensor<2x3xi32> {shoal.name = "iota"}, tensor<3xbf16> {shoal.name = "iota_bf16"},
    tensor<2x3xi32> {shoal.name = "broadcast"}, tensor<2x2xi32> {shoal.name = "broadcast_ones"},
    tensor<3x2xi32> {shoal.name = "transpose"}, tensor<2x1x2xi32> {shoal.name = "transpose_3d"},
    tensor<3x2xi32> {shoal.name = "reshape"}, tensor<2x2xi32> {shoal.name = "slice"},
    tensor<4x4xi32> {shoal.name = "pad"}, tensor<5xi32> {shoal.name = "concatenate"},
    tensor<2x5xi32> {shoal.name = "concatenate_columns"}, tensor<2x3xi32> {shoal.name = "annotated"}) {
  // CHECK{LITERAL}: iota: tensor<2x3xi32> = [[0, 1, 2], [0, 1, 2]]
  %iota = shoal.iota dim = 1 : tensor<2x3xi32>
  // CHECK: iota_bf16: tensor<3xbf16> = [0, 1, 2]
  %iota_bf16 = shoal.iota dim = 0 : tensor<3xbf16>

  %row = arith.constant dense<[1, 2, 3]> : tensor<3xi32>
  // CHECK{LITERAL}: broadcast: tensor<2x3xi32> = [[1, 2, 3], [1, 2, 3]]
  %broadcast = shoal.broadcast_in_dim %row dims = [1] : tensor<3xi32> -> tensor<2x3xi32>
  %column = arith.constant dense<[[5, 6]]> : tensor<1x2xi32>
  // Dimensions may change order; the size 1 repeats.
  // CHECK{LITERAL}: broadcast_ones: tensor<2x2xi32> = [[5, 5], [6, 6]]
  %broadcast_ones = shoal.broadcast_in_dim %column dims = [1, 0] : tensor<1x2xi32> -> tensor<2x2xi32>

  %m = arith.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  // CHECK{LITERAL}: transpose: tensor<3x2xi32> = [[1, 4], [2, 5], [3, 6]]
  %transpose = shoal.transpose %m permutation = [1, 0] : tensor<2x3xi32> -> tensor<3x2xi32>
  %cube = arith.constant dense<[[[1, 2], [3, 4]]]> : tensor<1x2x2xi32>
  // Result (i, j, k) is operand (j, k, i).
  // CHECK{LITERAL}: transpose_3d: tensor<2x1x2xi32> = [[[1, 3]], [[2, 4]]]
  %transpose_3d = shoal.transpose %cube permutation = [2, 0, 1] : tensor<1x2x2xi32> -> tensor<2x1x2xi32>
  // CHECK{LITERAL}: reshape: tensor<3x2xi32> = [[1, 2], [3, 4], [5, 6]]
  %reshape = shoal.reshape %m : tensor<2x3xi32> -> tensor<3x2xi32>
  // CHECK{LITERAL}: slice: tensor<2x2xi32> = [[1, 3], [4, 6]]
  %slice = shoal.slice %m starts = [0, 0] limits = [2, 3] strides = [1, 2] : tensor<2x3xi32> -> tensor<2x2xi32>
  %nine = arith.constant dense<9> : tensor<i32>
  %two = arith.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  // CHECK{LITERAL}: pad: tensor<4x4xi32> = [[9, 9, 9, 9], [1, 9, 2, 9], [3, 9, 4, 9], [9, 9, 9, 9]]
  %pad = shoal.pad %two, %nine low = [1, 0] high = [1, 1] interior = [0, 1] : tensor<2x2xi32>, tensor<i32> -> tensor<4x4xi32>
  %short = arith.constant dense<[7, 8]> : tensor<2xi32>
  // CHECK: concatenate: tensor<5xi32> = [1, 2, 3, 7, 8]
  %concatenate = shoal.concatenate %row, %short dim = 0 : (tensor<3xi32>, tensor<2xi32>) -> tensor<5xi32>
  // CHECK{LITERAL}: concatenate_columns: tensor<2x5xi32> = [[1, 2, 3, 1, 2], [4, 5, 6, 3, 4]]
  %columns = shoal.concatenate %m, %two dim = 1 : (tensor<2x3xi32>, tensor<2x2xi32>) -> tensor<2x5xi32>

  // Annotations and reshards are the identity on values.
  %a0 = shoal.replicate %m : tensor<2x3xi32>
  %a1 = shoal.split %a0 {dim = 0, num_partitions = 2} : tensor<2x3xi32>
  %a2 = shoal.shard %a1 {device_assignment = dense<[[1], [0]]> : tensor<2x1xi64>} : tensor<2x3xi32>
  %a3 = shoal.sharding_constraint %a2 <@mesh, [{"x"}, {}]> : tensor<2x3xi32>
  // CHECK{LITERAL}: annotated: tensor<2x3xi32> = [[1, 2, 3], [4, 5, 6]]
  %annotated = shoal.reshard %a3 <@mesh, [{"x"}, {}]> -> <@mesh, [{}, {}]> : tensor<2x3xi32>
  return %iota, %iota_bf16, %broadcast, %broadcast_ones, %transpose, %transpose_3d, %reshape, %slice, %pad, %concatenate, %columns, %annotated
    : tensor<2x3xi32>, tensor<3xbf16>, tensor<2x3xi32>, tensor<2x2xi32>, tensor<3x2xi32>, tensor<2x1x2xi32>, tensor<3x2xi32>, tensor<2x2xi32>, tensor<4x4xi32>, tensor<5xi32>, tensor<2x5xi32>, tensor<2x3xi32>
}
