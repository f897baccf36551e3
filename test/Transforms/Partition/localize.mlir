// Types become local, reshard steps collectives; padding is masked where an op
// would read it.
//
// RUN: shoal-opt %s --split-input-file --shoal-localize | FileCheck %s

shoal.mesh @mesh = <["x" = 2, "y" = 4]>

#x_ = #shoal.sharding<@mesh, [{"x"}, {}]>
#_x = #shoal.sharding<@mesh, [{}, {"x"}]>
#y_ = #shoal.sharding<@mesh, [{"y"}, {}]>
#__ = #shoal.sharding<@mesh, [{}, {}]>
#p = #shoal.sharding<@mesh, [{}, {}], partial = {"y"}>

// CHECK-LABEL: func.func @all_to_all_swaps_the_split_dimension
// CHECK-SAME: (%arg0: tensor<8x7xf32> {shoal.global_type = tensor<15x7xf32>
// CHECK-SAME: -> (tensor<15x4xf32> {shoal.global_type = tensor<15x7xf32>
// CHECK-SAME: attributes {shoal.global_einsum_flops = 0.{{.*}}, shoal.spmd}
func.func @all_to_all_swaps_the_split_dimension(%a: tensor<15x7xf32> {shoal.sharding = #x_}) -> (tensor<15x7xf32> {shoal.sharding = #_x}) {
  // CHECK: spmd.all_to_all @mesh [{"x"} : 0 -> 1] %arg0 {why = "because"} : tensor<8x7xf32> -> tensor<15x4xf32>
  %0 = shoal.reshard %a <@mesh, [{"x"}, {}]> -> <@mesh, [{}, {"x"}]> by all_to_all {shoal.shardings = [#_x], why = "because"} : tensor<15x7xf32>
  return %0 : tensor<15x7xf32>
}

// CHECK-LABEL: func.func @slice_gather_and_permute
func.func @slice_gather_and_permute(%a: tensor<16x8xf32> {shoal.sharding = #__}) -> (tensor<16x8xf32> {shoal.sharding = #__}) {
  // CHECK: spmd.all_slice @mesh [{"x"}, {}] %arg0 : tensor<16x8xf32> -> tensor<8x8xf32>
  %0 = shoal.reshard %a <@mesh, [{}, {}]> -> <@mesh, [{"x"}, {}]> by slice {shoal.shardings = [#x_]} : tensor<16x8xf32>
  // CHECK: spmd.all_slice @mesh [{"y"}, {}] {{.*}} : tensor<8x8xf32> -> tensor<2x8xf32>
  %1 = shoal.reshard %0 <@mesh, [{"x"}, {}]> -> <@mesh, [{"x", "y"}, {}]> by slice {shoal.shardings = [#shoal.sharding<@mesh, [{"x", "y"}, {}]>]} : tensor<16x8xf32>
  // CHECK: spmd.collective_permute @mesh {"x", "y"} -> @mesh {"y", "x"} {{.*}} : tensor<2x8xf32>
  %2 = shoal.reshard %1 <@mesh, [{"x", "y"}, {}]> -> <@mesh, [{"y", "x"}, {}]> by collective_permute {shoal.shardings = [#shoal.sharding<@mesh, [{"y", "x"}, {}]>]} : tensor<16x8xf32>
  // CHECK: spmd.all_gather @mesh [{"y", "x"}, {}] {{.*}} : tensor<2x8xf32> -> tensor<16x8xf32>
  %3 = shoal.reshard %2 <@mesh, [{"y", "x"}, {}]> -> <@mesh, [{}, {}]> by all_gather {shoal.shardings = [#__]} : tensor<16x8xf32>
  return %3 : tensor<16x8xf32>
}

// CHECK-LABEL: func.func @partial_sums
func.func @partial_sums(%a: tensor<16x8xf32> {shoal.sharding = #__}) -> (tensor<16x8xf32> {shoal.sharding = #__}, tensor<16x8xf32> {shoal.sharding = #y_}) {
  // Device 0 keeps the value; the others hold zero.
  // CHECK: %[[I:.*]] = spmd.axis_index @mesh {"y"} : tensor<i32>
  // CHECK: arith.cmpi eq, %[[I]]
  // CHECK: %[[P:.*]] = arith.select
  %0 = shoal.reshard %a <@mesh, [{}, {}]> -> <@mesh, [{}, {}], partial = {"y"}> by to_partial {shoal.shardings = [#p]} : tensor<16x8xf32>
  // CHECK: spmd.all_reduce sum @mesh {"y"} %[[P]] : tensor<16x8xf32>
  %1 = shoal.reshard %0 <@mesh, [{}, {}], partial = {"y"}> -> <@mesh, [{}, {}]> by all_reduce {shoal.shardings = [#__]} : tensor<16x8xf32>
  // CHECK: spmd.reduce_scatter sum @mesh [{"y"}, {}] %[[P]] : tensor<16x8xf32> -> tensor<4x8xf32>
  %2 = shoal.reshard %0 <@mesh, [{}, {}], partial = {"y"}> -> <@mesh, [{"y"}, {}]> by reduce_scatter {shoal.shardings = [#y_]} : tensor<16x8xf32>
  return %1, %2 : tensor<16x8xf32>, tensor<16x8xf32>
}

// Blocks become addends where they are: each is put among zeros.
// CHECK-LABEL: func.func @blocks_become_addends
func.func @blocks_become_addends(%a: tensor<15x8xf32> {shoal.sharding = #y_}) -> (tensor<15x8xf32> {shoal.sharding = #__}) {
  // CHECK: %[[I:.*]] = spmd.axis_index @mesh {"y"} : tensor<i32>
  // CHECK: %[[FIRST:.*]] = arith.muli %[[I]]
  // CHECK: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : tensor<16x8xf32>
  // CHECK: %[[PUT:.*]] = shoal.dynamic_update_slice %[[ZEROS]], %arg0[%[[FIRST]], {{.*}}] : (tensor<16x8xf32>, tensor<4x8xf32>
  // CHECK: %[[P:.*]] = shoal.slice %[[PUT]] {{.*}} : tensor<16x8xf32> -> tensor<15x8xf32>
  // CHECK: spmd.all_reduce sum @mesh {"y"} %[[P]]
  %0 = shoal.reshard %a <@mesh, [{"y"}, {}]> -> <@mesh, [{}, {}], partial = {"y"}> by to_partial {shoal.shardings = [#p]} : tensor<15x8xf32>
  %1 = shoal.reshard %0 <@mesh, [{}, {}], partial = {"y"}> -> <@mesh, [{}, {}]> by all_reduce {shoal.shardings = [#__]} : tensor<15x8xf32>
  return %1 : tensor<15x8xf32>
}

// 15 rows over 4 devices: shards of 4, the last with one row of padding, which
// may be NaN. Both operands are masked.
// CHECK-LABEL: func.func @contracting_dim_uneven_masks_both_operands
func.func @contracting_dim_uneven_masks_both_operands(%a: tensor<15x3xf32> {shoal.sharding = #y_}, %b: tensor<15x5xf32> {shoal.sharding = #y_}) -> (tensor<3x5xf32> {shoal.sharding = #p}) {
  // CHECK: %[[ROW:.*]] = shoal.iota dim = 0 : tensor<4x3xi32>
  // CHECK: %[[I:.*]] = spmd.axis_index @mesh {"y"}
  // CHECK: %[[FIRST:.*]] = arith.muli %[[I]], {{.*}} : tensor<i32>
  // CHECK: %[[SPREAD:.*]] = shoal.broadcast_in_dim %[[FIRST]]
  // CHECK: %[[AT:.*]] = arith.addi %[[ROW]], %[[SPREAD]]
  // CHECK: %[[END:.*]] = arith.constant dense<15>
  // CHECK: %[[IN:.*]] = arith.cmpi slt, %[[AT]], %[[END]]
  // CHECK: %[[A:.*]] = arith.select %[[IN]], %arg0
  // CHECK: %[[B:.*]] = arith.select {{.*}}, %arg1
  // CHECK: shoal.einsum "KI,KJ->IJ" %[[A]], %[[B]] : (tensor<4x3xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %0 = shoal.einsum "KI,KJ->IJ" %a, %b {shoal.shardings = [#p]} : (tensor<15x3xf32>, tensor<15x5xf32>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}

// Free dimensions carry their padding along: nothing to mask.
// CHECK-LABEL: func.func @free_dim_uneven_masks_nothing
func.func @free_dim_uneven_masks_nothing(%a: tensor<15x3xf32> {shoal.sharding = #y_}, %b: tensor<3x5xf32> {shoal.sharding = #__}) -> (tensor<15x5xf32> {shoal.sharding = #y_}) {
  // CHECK-NEXT: shoal.einsum "IK,KJ->IJ" %arg0, %arg1
  %0 = shoal.einsum "IK,KJ->IJ" %a, %b {shoal.shardings = [#y_]} : (tensor<15x3xf32>, tensor<3x5xf32>) -> tensor<15x5xf32>
  return %0 : tensor<15x5xf32>
}

// A maximum cannot wait as a partial value: it is finished at once.
// CHECK-LABEL: func.func @max_over_split_dim
func.func @max_over_split_dim(%a: tensor<15x3xf32> {shoal.sharding = #y_}) -> (tensor<3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>}) {
  // CHECK: arith.constant dense<0xFF800000>
  // CHECK: %[[M:.*]] = arith.select
  // CHECK: %[[L:.*]] = shoal.reduce max %[[M]] dims = [0] : tensor<4x3xf32> -> tensor<3xf32>
  // CHECK: spmd.all_reduce max @mesh {"y"} %[[L]]
  %0 = shoal.reduce max %a dims = [0] {shoal.shardings = [#shoal.sharding<@mesh, [{}]>]} : tensor<15x3xf32> -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// Of 2,049 numbers an f16 does not hold the last: they are counted in integers.
// CHECK-LABEL: func.func @iota_of_narrow_floats_is_rounded_once
func.func @iota_of_narrow_floats_is_rounded_once() -> (tensor<2050xf16> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}]>}) {
  // CHECK: %[[L:.*]] = shoal.iota dim = 0 : tensor<{{[0-9]+}}xi32>
  // CHECK: %[[N:.*]] = arith.addi %[[L]]
  // CHECK: arith.sitofp %[[N]] : tensor<{{[0-9]+}}xi32> to tensor<{{[0-9]+}}xf16>
  %0 = shoal.iota dim = 0 {shoal.shardings = [#shoal.sharding<@mesh, [{"y"}]>]} : tensor<2050xf16>
  return %0 : tensor<2050xf16>
}

// CHECK-LABEL: func.func @iota_counts_from_the_first_row_of_the_device
func.func @iota_counts_from_the_first_row_of_the_device() -> (tensor<15x3xi64> {shoal.sharding = #y_}) {
  // CHECK: %[[L:.*]] = shoal.iota dim = 0 : tensor<4x3xi64>
  // CHECK: %[[F:.*]] = arith.muli
  // CHECK: %[[W:.*]] = arith.extsi %[[F]] : tensor<i32> to tensor<i64>
  // CHECK: %[[S:.*]] = shoal.broadcast_in_dim %[[W]]
  // CHECK: arith.addi %[[L]], %[[S]] : tensor<4x3xi64>
  %0 = shoal.iota dim = 0 {shoal.shardings = [#y_]} : tensor<15x3xi64>
  return %0 : tensor<15x3xi64>
}

// CHECK-LABEL: func.func @slice_keeps_the_whole_shard_of_untouched_dims
func.func @slice_keeps_the_whole_shard_of_untouched_dims(%a: tensor<15x6xf32> {shoal.sharding = #y_}) -> (tensor<15x2xf32> {shoal.sharding = #y_}) {
  // CHECK: shoal.slice %arg0 starts = [0, 1] limits = [4, 5] strides = [1, 2] : tensor<4x6xf32> -> tensor<4x2xf32>
  %0 = shoal.slice %a starts = [0, 1] limits = [15, 5] strides = [1, 2] {shoal.shardings = [#y_]} : tensor<15x6xf32> -> tensor<15x2xf32>
  return %0 : tensor<15x2xf32>
}
