// What pad and reverse send where both dimensions are split.
//
// RUN: shoal-opt %s --shoal-partition | FileCheck %s
// RUN: shoal-run %s --entry=reverse_both --random-inputs=1 --compare
// RUN: shoal-run %s --entry=reverse_one_uneven --random-inputs=1 --compare
// RUN: shoal-run %s --entry=pad_between_rows --random-inputs=1 --compare
// RUN: shoal-run %s --entry=pad_between_few_rows --random-inputs=1 --compare
// RUN: shoal-run %s --entry=pad_between_rows_far_apart --random-inputs=1 --compare

shoal.mesh @mesh = <["x" = 2, "y" = 4]>

#both = #shoal.sharding<@mesh, [{"x"}, {"y"}]>
#rows = #shoal.sharding<@mesh, [{"y"}, {}]>
#whole = #shoal.sharding<@mesh, []>

// Blocks go to where both dimensions have them in one exchange: device (i, j)
// trades with (1 - i, 3 - j), over both axes 7 - k with k.
// CHECK-LABEL: @reverse_both
// CHECK: spmd.halo_exchange @mesh {"x", "y"} %{{.*}} {dim = 0 : i64, offset = 28 : i64, size = 32 : i64, step = -4 : i64
// CHECK-NOT: spmd.halo_exchange
// CHECK: return
func.func @reverse_both(%0: tensor<8x12xf32> {shoal.sharding = #both}) -> (tensor<8x12xf32> {shoal.sharding = #both}) {
  %y = shoal.reverse %0 dims = [0, 1] : tensor<8x12xf32>
  return %y : tensor<8x12xf32>
}

// CHECK-LABEL: @reverse_one_uneven
// CHECK: spmd.halo_exchange @mesh {"y"} %{{.*}} {dim = 1 : i64
// CHECK: spmd.halo_exchange @mesh {"x"} %{{.*}} {dim = 0 : i64
// CHECK: return
func.func @reverse_one_uneven(%0: tensor<8x11xf32> {shoal.sharding = #both}) -> (tensor<8x11xf32> {shoal.sharding = #both}) {
  %y = shoal.reverse %0 dims = [0, 1] : tensor<8x11xf32>
  return %y : tensor<8x11xf32>
}

// A block of the result that begins between two rows needs the one behind it,
// not the one before: nothing is sent.
// CHECK-LABEL: @pad_between_rows
// CHECK-NOT: spmd.{{all_|reduce_|exchange|halo|collective}}
// CHECK: shoal.pad %{{.*}} low = [1, 0] high = [0, 0] interior = [1, 0] : tensor<4x6xf32>
func.func @pad_between_rows(%0: tensor<16x6xf32> {shoal.sharding = #rows}, %1: tensor<f32> {shoal.sharding = #whole})
    -> (tensor<32x6xf32> {shoal.sharding = #rows}) {
  %y = shoal.pad %0, %1 low = [1, 0] high = [0, 0] interior = [1, 0] : tensor<16x6xf32>, tensor<f32> -> tensor<32x6xf32>
  return %y : tensor<32x6xf32>
}

// Blocks of 3 places, rows 5 apart: some blocks have no row.
// CHECK-LABEL: @pad_between_few_rows
// CHECK: spmd.halo_exchange @mesh {"y"} %{{.*}} {dim = 0 : i64, divisor = 5 : i64, offset = 1 : i64, size = 3 : i64, step = 3 : i64
func.func @pad_between_few_rows(%0: tensor<3x6xf32> {shoal.sharding = #rows}, %1: tensor<f32> {shoal.sharding = #whole})
    -> (tensor<12x6xf32> {shoal.sharding = #rows}) {
  %y = shoal.pad %0, %1 low = [1, 0] high = [0, 0] interior = [4, 0] : tensor<3x6xf32>, tensor<f32> -> tensor<12x6xf32>
  return %y : tensor<12x6xf32>
}

// CHECK-LABEL: @pad_between_rows_far_apart
// CHECK-NOT: spmd.{{all_|reduce_|exchange|halo|collective}}
// CHECK: return
func.func @pad_between_rows_far_apart(%0: tensor<4x6xf32> {shoal.sharding = #rows}, %1: tensor<f32> {shoal.sharding = #whole})
    -> (tensor<16x6xf32> {shoal.sharding = #rows}) {
  %y = shoal.pad %0, %1 low = [2, 0] high = [1, 0] interior = [3, 0] : tensor<4x6xf32>, tensor<f32> -> tensor<16x6xf32>
  return %y : tensor<16x6xf32>
}
