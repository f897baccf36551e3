// What slice, pad, reverse, concatenate and reshape send for each kind of split
// dimension, and that the values are those of one device.
//
// RUN: shoal-opt %s --shoal-partition | FileCheck %s
// RUN: shoal-run %s --entry=slice_aligned --random-inputs=1 --compare
// RUN: shoal-run %s --entry=slice_behind_start --random-inputs=1 --compare
// RUN: shoal-run %s --entry=slice_short --random-inputs=1 --compare
// RUN: shoal-run %s --entry=slice_strided --random-inputs=1 --compare
// RUN: shoal-run %s --entry=slice_fewer_rows_than_devices --random-inputs=1 --compare
// RUN: shoal-run %s --entry=slice_one_row --random-inputs=1 --compare
// RUN: shoal-run %s --entry=slice_one_row_and_part --random-inputs=1 --compare
// RUN: shoal-run %s --entry=slice_one_boolean --random-inputs=1 --compare
// RUN: shoal-run %s --entry=pad_low --random-inputs=1 --compare
// RUN: shoal-run %s --entry=pad_high --random-inputs=1 --compare
// RUN: shoal-run %s --entry=pad_interior --random-inputs=1 --compare
// RUN: shoal-run %s --entry=pad_negative --random-inputs=1 --compare
// RUN: shoal-run %s --entry=pad_interior_to_nothing --random-inputs=1 --compare
// RUN: shoal-run %s --entry=reverse_even --random-inputs=1 --compare
// RUN: shoal-run %s --entry=reverse_uneven --random-inputs=1 --compare
// RUN: shoal-run %s --entry=reverse_untouched_dim --random-inputs=1 --compare
// RUN: shoal-run %s --entry=concatenate_along --random-inputs=1 --compare
// RUN: shoal-run %s --entry=concatenate_untouched_dim --random-inputs=1 --compare
// RUN: shoal-run %s --entry=reshape_merge_evenly --random-inputs=1 --compare
// RUN: shoal-run %s --entry=reshape_merge_uneven --random-inputs=1 --compare
// RUN: shoal-run %s --entry=reshape_split_uneven --random-inputs=1 --compare
// RUN: shoal-run %s --entry=reshape_regroup --random-inputs=1 --compare
// RUN: shoal-run %s --entry=reshape_split_in_halves --random-inputs=1 --compare

shoal.mesh @mesh = <["x" = 4]>

// Blocks of the result begin where blocks of the operand do.
// CHECK-LABEL: @slice_aligned
// CHECK-NOT: spmd.{{all_|reduce_|exchange|halo|collective}}
func.func @slice_aligned(%0: tensor<16x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %y = shoal.slice %0 starts = [0, 0] limits = [16, 6] strides = [2, 1] : tensor<16x6xf32> -> tensor<8x6xf32>
  return %y : tensor<8x6xf32>
}

// GShard section 3.3.3: rows 2 ... 14 of 15. A device has 4 rows and wants 4,
// two places on.
// CHECK-LABEL: @slice_behind_start
// CHECK: spmd.halo_exchange @mesh {"x"} %{{.*}} {dim = 0 : i64, offset = 2 : i64, size = 15 : i64, step = 4 : i64
func.func @slice_behind_start(%0: tensor<15x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<13x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %y = shoal.slice %0 starts = [2, 0] limits = [15, 6] strides = [1, 1] : tensor<15x6xf32> -> tensor<13x6xf32>
  return %y : tensor<13x6xf32>
}

// One row of 97 for each device: 3 rows are sent.
// CHECK-LABEL: @slice_short
// CHECK: spmd.halo_exchange @mesh {"x"} %{{.*}} : tensor<25x6xf32> -> tensor<1x6xf32>
func.func @slice_short(%0: tensor<97x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %y = shoal.slice %0 starts = [7, 0] limits = [11, 6] strides = [1, 1] : tensor<97x6xf32> -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// What lies between the rows kept comes along.
// CHECK-LABEL: @slice_strided
// CHECK: spmd.halo_exchange @mesh {"x"} %{{.*}} {dim = 0 : i64, offset = 1 : i64, size = 15 : i64, step = 6 : i64
func.func @slice_strided(%0: tensor<15x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<5x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %y = shoal.slice %0 starts = [1, 0] limits = [15, 6] strides = [3, 1] : tensor<15x6xf32> -> tensor<5x6xf32>
  return %y : tensor<5x6xf32>
}

// CHECK-LABEL: @slice_fewer_rows_than_devices
// CHECK: spmd.halo_exchange @mesh {"x"}
func.func @slice_fewer_rows_than_devices(%0: tensor<3x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<2x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %y = shoal.slice %0 starts = [1, 0] limits = [3, 6] strides = [1, 1] : tensor<3x6xf32> -> tensor<2x6xf32>
  return %y : tensor<2x6xf32>
}

// The device that has the row adds it to nothing from the others.
// CHECK-LABEL: @slice_one_row
// CHECK-NOT: spmd.{{all_gather|all_to_all|exchange|halo}}
// CHECK: spmd.all_reduce sum @mesh {"x"} %{{.*}} : tensor<1x64xf32>
// CHECK-NOT: spmd.{{all_|reduce_|exchange|halo|collective}}
func.func @slice_one_row(%0: tensor<15x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<1x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>}) {
  %y = shoal.slice %0 starts = [13, 0] limits = [14, 64] strides = [1, 1] : tensor<15x64xf32> -> tensor<1x64xf32>
  return %y : tensor<1x64xf32>
}

// CHECK-LABEL: @slice_one_row_and_part
// CHECK: spmd.all_reduce sum @mesh {"x"} %{{.*}} : tensor<1x3xf32>
func.func @slice_one_row_and_part(%0: tensor<16x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<1x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>}) {
  %y = shoal.slice %0 starts = [5, 2] limits = [7, 8] strides = [3, 2] : tensor<16x64xf32> -> tensor<1x3xf32>
  return %y : tensor<1x3xf32>
}

// CHECK-LABEL: @slice_one_boolean
// CHECK: spmd.all_reduce or @mesh {"x"} %{{.*}} : tensor<1xi1>
func.func @slice_one_boolean(%0: tensor<64xi1> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>})
    -> (tensor<1xi1> {shoal.sharding = #shoal.sharding<@mesh, [{}]>}) {
  %y = shoal.slice %0 starts = [60] limits = [61] strides = [1] : tensor<64xi1> -> tensor<1xi1>
  return %y : tensor<1xi1>
}

// The rows before belong to the first device.
// CHECK-LABEL: @pad_low
// CHECK: spmd.halo_exchange @mesh {"x"} %{{.*}} {dim = 0 : i64, offset = -1 : i64, size = 14 : i64, step = 4 : i64
func.func @pad_low(%0: tensor<14x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %1: tensor<f32> {shoal.sharding = #shoal.sharding<@mesh, []>})
    -> (tensor<15x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %y = shoal.pad %0, %1 low = [1, 0] high = [0, 0] interior = [0, 0] : tensor<14x6xf32>, tensor<f32> -> tensor<15x6xf32>
  return %y : tensor<15x6xf32>
}

// 16 rows in blocks of 4 end where 13 rows in blocks of 4 do: nothing is sent,
// what pads the last block is masked.
// CHECK-LABEL: @pad_high
// CHECK-NOT: spmd.{{all_|reduce_|exchange|halo|collective}}
func.func @pad_high(%0: tensor<13x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %1: tensor<f32> {shoal.sharding = #shoal.sharding<@mesh, []>})
    -> (tensor<16x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %y = shoal.pad %0, %1 low = [0, 0] high = [3, 0] interior = [0, 0] : tensor<13x6xf32>, tensor<f32> -> tensor<16x6xf32>
  return %y : tensor<16x6xf32>
}

// Rows are spread over twice as many places: no two devices begin in the same
// phase of the window.
// CHECK-LABEL: @pad_interior
// CHECK: spmd.halo_exchange @mesh {"x"} %{{.*}} {dim = 0 : i64, divisor = 2 : i64, offset = 1 : i64, size = 13 : i64, step = 7 : i64
// CHECK: shoal.dynamic_slice
func.func @pad_interior(%0: tensor<13x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %1: tensor<f32> {shoal.sharding = #shoal.sharding<@mesh, []>})
    -> (tensor<25x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %y = shoal.pad %0, %1 low = [0, 0] high = [0, 0] interior = [1, 0] : tensor<13x6xf32>, tensor<f32> -> tensor<25x6xf32>
  return %y : tensor<25x6xf32>
}

// Taking rows away in front moves all others.
// CHECK-LABEL: @pad_negative
// CHECK: spmd.halo_exchange @mesh {"x"} %{{.*}} {dim = 0 : i64, offset = 3 : i64, size = 15 : i64, step = 4 : i64
func.func @pad_negative(%0: tensor<15x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %1: tensor<f32> {shoal.sharding = #shoal.sharding<@mesh, []>})
    -> (tensor<13x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %y = shoal.pad %0, %1 low = [-3, 0] high = [1, 0] interior = [0, 0] : tensor<15x6xf32>, tensor<f32> -> tensor<13x6xf32>
  return %y : tensor<13x6xf32>
}

// Device i trades blocks with device 3 - i.
// CHECK-LABEL: @reverse_even
// CHECK: spmd.halo_exchange @mesh {"x"} %{{.*}} {dim = 0 : i64, offset = 12 : i64, size = 16 : i64, step = -4 : i64
func.func @reverse_even(%0: tensor<16x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<16x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %y = shoal.reverse %0 dims = [0] : tensor<16x6xf32>
  return %y : tensor<16x6xf32>
}

// The last block is short, and must become the first: every block comes from
// two devices.
// CHECK-LABEL: @reverse_uneven
// CHECK: spmd.halo_exchange @mesh {"x"} %{{.*}} {dim = 0 : i64, offset = 11 : i64, size = 15 : i64, step = -4 : i64
func.func @reverse_uneven(%0: tensor<15x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<15x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %y = shoal.reverse %0 dims = [0] : tensor<15x6xf32>
  return %y : tensor<15x6xf32>
}

// CHECK-LABEL: @reverse_untouched_dim
// CHECK-NOT: spmd.{{all_|reduce_|exchange|halo|collective}}
func.func @reverse_untouched_dim(%0: tensor<15x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<15x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %y = shoal.reverse %0 dims = [1] : tensor<15x6xf32>
  return %y : tensor<15x6xf32>
}

// Each device selects by the row which operand it is from.
// CHECK-LABEL: @concatenate_along
// CHECK: spmd.halo_exchange @mesh {"x"} %{{.*}} : tensor<2x6xf32> -> tensor<4x6xf32>
// CHECK: spmd.halo_exchange @mesh {"x"} %{{.*}} : tensor<3x6xf32> -> tensor<4x6xf32>
func.func @concatenate_along(%0: tensor<5x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %1: tensor<10x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<15x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %y = shoal.concatenate %0, %1 dim = 0 : (tensor<5x6xf32>, tensor<10x6xf32>) -> tensor<15x6xf32>
  return %y : tensor<15x6xf32>
}

// CHECK-LABEL: @concatenate_untouched_dim
// CHECK-NOT: spmd.{{all_|reduce_|exchange|halo|collective}}
func.func @concatenate_untouched_dim(%0: tensor<15x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %1: tensor<15x2xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<15x8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %y = shoal.concatenate %0, %1 dim = 1 : (tensor<15x6xf32>, tensor<15x2xf32>) -> tensor<15x8xf32>
  return %y : tensor<15x8xf32>
}

// CHECK-LABEL: @reshape_merge_evenly
// CHECK-NOT: spmd.{{all_|reduce_|exchange|halo|collective}}
func.func @reshape_merge_evenly(%0: tensor<4x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<12xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}) {
  %y = shoal.reshape %0 : tensor<4x3xf32> -> tensor<12xf32>
  return %y : tensor<12xf32>
}

// Devices hold 2 rows of 3, 6 elements, and want 4 of the 15.
// CHECK-LABEL: @reshape_merge_uneven
// CHECK: spmd.halo_exchange @mesh {"x"} %{{.*}} {dim = 0 : i64, offset = 0 : i64, size = 24 : i64, step = 4 : i64
func.func @reshape_merge_uneven(%0: tensor<5x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<15xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}) {
  %y = shoal.reshape %0 : tensor<5x3xf32> -> tensor<15xf32>
  return %y : tensor<15xf32>
}

// CHECK-LABEL: @reshape_split_uneven
// CHECK: spmd.halo_exchange @mesh {"x"} %{{.*}} {dim = 0 : i64, offset = 0 : i64, size = 16 : i64, step = 6 : i64
func.func @reshape_split_uneven(%0: tensor<15xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>})
    -> (tensor<5x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %y = shoal.reshape %0 : tensor<15xf32> -> tensor<5x3xf32>
  return %y : tensor<5x3xf32>
}

// No size divides another: only the major dimensions are split, elements move.
// CHECK-LABEL: @reshape_regroup
// CHECK: spmd.halo_exchange @mesh {"x"} %{{.*}} {dim = 0 : i64, offset = 0 : i64, size = 48 : i64, step = 10 : i64
func.func @reshape_regroup(%0: tensor<10x4x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}, {}]>})
    -> (tensor<8x5x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}, {}]>}) {
  %y = shoal.reshape %0 : tensor<10x4x5xf32> -> tensor<8x5x5xf32>
  return %y : tensor<8x5x5xf32>
}

// Of one row and no neighbour, nothing is left.
// CHECK-LABEL: @pad_interior_to_nothing
// CHECK-NOT: spmd.{{all_|reduce_|exchange|halo|collective}}
func.func @pad_interior_to_nothing(%0: tensor<1x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %1: tensor<f32> {shoal.sharding = #shoal.sharding<@mesh, []>})
    -> (tensor<0x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %y = shoal.pad %0, %1 low = [0, 0] high = [-1, 0] interior = [1, 0] : tensor<1x6xf32>, tensor<f32> -> tensor<0x6xf32>
  return %y : tensor<0x6xf32>
}

// An axis of 4 goes on along the second dimension: 8 rows are 2 x 4.
// CHECK-LABEL: @reshape_split_in_halves
// CHECK-SAME: -> (tensor<6x1x2xf32> {{.*}}shoal.sharding = #shoal.sharding<@mesh, [{}, {"x":(1)2}, {"x":(2)2}]>
// CHECK-NOT: spmd.{{all_|reduce_|exchange|halo|collective}}
func.func @reshape_split_in_halves(%0: tensor<6x8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>})
    -> tensor<6x2x4xf32> {
  %y = shoal.reshape %0 : tensor<6x8xf32> -> tensor<6x2x4xf32>
  return %y : tensor<6x2x4xf32>
}
