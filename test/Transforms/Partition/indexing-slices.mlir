// What dynamic_slice and dynamic_update_slice send for each kind of split dimension, and that the values are
// those of one device. Sizes are uneven; the size on a collective's line is what
// each device puts in.
//
// RUN: shoal-opt %s --shoal-partition | FileCheck %s
// RUN: shoal-run %s --entry=dynamic_slice_untouched_dim --random-inputs=1 --compare
// RUN: shoal-run %s --entry=dynamic_slice_cut_operand --random-inputs=1 --compare
// RUN: shoal-run %s --entry=dynamic_slice_cut_operand_and_result --random-inputs=1 --compare
// RUN: shoal-run %s --entry=dynamic_slice_cut_result --random-inputs=1 --compare
// RUN: shoal-run %s --entry=dynamic_slice_cut_result_evenly --random-inputs=1 --compare
// RUN: shoal-run %s --entry=dynamic_slice_booleans --random-inputs=1 --compare
// RUN: shoal-run %s --entry=dynamic_slice_fewer_rows_than_devices --random-inputs=1 --compare
// RUN: shoal-run %s --entry=dynamic_update_slice_untouched_dim --random-inputs=1 --compare
// RUN: shoal-run %s --entry=dynamic_update_slice_cut_dim --random-inputs=1 --compare
// RUN: shoal-run %s --entry=dynamic_update_slice_split_update --random-inputs=1 --compare
// RUN: shoal-run %s --entry=dynamic_update_slice_fewer_rows_than_devices --random-inputs=1 --compare

shoal.mesh @mesh = <["x" = 4]>

// A dimension that stays whole is split for free.
// CHECK-LABEL: @dynamic_slice_untouched_dim
// CHECK-NOT: spmd.{{all_|reduce_|exchange|halo|collective}}
func.func @dynamic_slice_untouched_dim(%x: tensor<97x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
    %i0: tensor<i32> {shoal.sharding = #shoal.sharding<@mesh, []>},
    %i1: tensor<i32> {shoal.sharding = #shoal.sharding<@mesh, []>})
    -> (tensor<2x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>}) {
  %y = shoal.dynamic_slice %x [%i0, %i1] sizes = [2, 6] : (tensor<97x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x6xf32>
  return %y : tensor<2x6xf32>
}

// Each device places the rows that it holds: 2 x 6 elements are added up, no matter
// how large the operand is.
// CHECK-LABEL: @dynamic_slice_cut_operand
// CHECK: spmd.all_reduce sum @mesh {"x"} %{{.*}} : tensor<2x6xf32>
func.func @dynamic_slice_cut_operand(%x: tensor<97x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %i0: tensor<i32> {shoal.sharding = #shoal.sharding<@mesh, []>},
    %i1: tensor<i32> {shoal.sharding = #shoal.sharding<@mesh, []>})
    -> (tensor<2x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>}) {
  %y = shoal.dynamic_slice %x [%i0, %i1] sizes = [2, 6] : (tensor<97x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x6xf32>
  return %y : tensor<2x6xf32>
}

// Partial sums meet their split: a reduce_scatter.
// CHECK-LABEL: @dynamic_slice_cut_operand_and_result
// CHECK: spmd.reduce_scatter sum @mesh [{"x"}, {}] %{{.*}} : tensor<6x6xf32> -> tensor<2x6xf32>
func.func @dynamic_slice_cut_operand_and_result(%x: tensor<97x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %i0: tensor<i32> {shoal.sharding = #shoal.sharding<@mesh, []>},
    %i1: tensor<i32> {shoal.sharding = #shoal.sharding<@mesh, []>})
    -> (tensor<6x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %y = shoal.dynamic_slice %x [%i0, %i1] sizes = [6, 6] : (tensor<97x6xf32>, tensor<i32>, tensor<i32>) -> tensor<6x6xf32>
  return %y : tensor<6x6xf32>
}

// Each device reads its rows of an operand that it holds whole.
// CHECK-LABEL: @dynamic_slice_cut_result
// CHECK-NOT: spmd.{{all_|reduce_|exchange|halo|collective}}
func.func @dynamic_slice_cut_result(%x: tensor<97x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
    %i0: tensor<i32> {shoal.sharding = #shoal.sharding<@mesh, []>},
    %i1: tensor<i32> {shoal.sharding = #shoal.sharding<@mesh, []>})
    -> (tensor<6x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %y = shoal.dynamic_slice %x [%i0, %i1] sizes = [6, 6] : (tensor<97x6xf32>, tensor<i32>, tensor<i32>) -> tensor<6x6xf32>
  return %y : tensor<6x6xf32>
}

// In one piece where each has as many.
// CHECK-LABEL: @dynamic_slice_cut_result_evenly
// CHECK: shoal.gather %{{.*}}, %{{.*}} offset_dims = [0, 1] collapsed_slice_dims = [] start_index_map = [0] index_vector_dim = 0 slice_sizes = [2, 6]
// CHECK-NOT: spmd.{{all_|reduce_|exchange|halo|collective}}
func.func @dynamic_slice_cut_result_evenly(%x: tensor<97x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
    %i0: tensor<i32> {shoal.sharding = #shoal.sharding<@mesh, []>},
    %i1: tensor<i32> {shoal.sharding = #shoal.sharding<@mesh, []>})
    -> (tensor<8x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %y = shoal.dynamic_slice %x [%i0, %i1] sizes = [8, 6] : (tensor<97x6xf32>, tensor<i32>, tensor<i32>) -> tensor<8x6xf32>
  return %y : tensor<8x6xf32>
}

// One bit or none: or, for lack of sums.
// CHECK-LABEL: @dynamic_slice_booleans
// CHECK: spmd.all_reduce or @mesh {"x"} %{{.*}} : tensor<2x6xi1>
func.func @dynamic_slice_booleans(%x: tensor<97x6xi1> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %i0: tensor<i32> {shoal.sharding = #shoal.sharding<@mesh, []>},
    %i1: tensor<i32> {shoal.sharding = #shoal.sharding<@mesh, []>})
    -> (tensor<2x6xi1> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>}) {
  %y = shoal.dynamic_slice %x [%i0, %i1] sizes = [2, 6] : (tensor<97x6xi1>, tensor<i32>, tensor<i32>) -> tensor<2x6xi1>
  return %y : tensor<2x6xi1>
}

// The last device holds none of 3 rows.
// CHECK-LABEL: @dynamic_slice_fewer_rows_than_devices
// CHECK: spmd.all_reduce sum @mesh {"x"} %{{.*}} : tensor<1xf32>
func.func @dynamic_slice_fewer_rows_than_devices(%x: tensor<3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>},
    %i0: tensor<i32> {shoal.sharding = #shoal.sharding<@mesh, []>})
    -> (tensor<1xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>}) {
  %y = shoal.dynamic_slice %x [%i0] sizes = [1] : (tensor<3xf32>, tensor<i32>) -> tensor<1xf32>
  return %y : tensor<1xf32>
}

// CHECK-LABEL: @dynamic_update_slice_untouched_dim
// CHECK-NOT: spmd.{{all_|reduce_|exchange|halo|collective}}
func.func @dynamic_update_slice_untouched_dim(%x: tensor<97x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
    %u: tensor<2x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
    %i0: tensor<i32> {shoal.sharding = #shoal.sharding<@mesh, []>},
    %i1: tensor<i32> {shoal.sharding = #shoal.sharding<@mesh, []>})
    -> (tensor<97x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>}) {
  %y = shoal.dynamic_update_slice %x, %u [%i0, %i1] : (tensor<97x6xf32>, tensor<2x6xf32>, tensor<i32>, tensor<i32>) -> tensor<97x6xf32>
  return %y : tensor<97x6xf32>
}

// Each device writes its rows of the update, which it has whole.
// CHECK-LABEL: @dynamic_update_slice_cut_dim
// CHECK-NOT: spmd.{{all_|reduce_|exchange|halo|collective}}
func.func @dynamic_update_slice_cut_dim(%x: tensor<97x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %u: tensor<2x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
    %i0: tensor<i32> {shoal.sharding = #shoal.sharding<@mesh, []>},
    %i1: tensor<i32> {shoal.sharding = #shoal.sharding<@mesh, []>})
    -> (tensor<97x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %y = shoal.dynamic_update_slice %x, %u [%i0, %i1] : (tensor<97x6xf32>, tensor<2x6xf32>, tensor<i32>, tensor<i32>) -> tensor<97x6xf32>
  return %y : tensor<97x6xf32>
}

// The update is gathered, never the operand.
// CHECK-LABEL: @dynamic_update_slice_split_update
// CHECK: spmd.all_gather @mesh [{"x"}, {}] %{{.*}} : tensor<2x6xf32> -> tensor<6x6xf32>
func.func @dynamic_update_slice_split_update(%x: tensor<97x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %u: tensor<6x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %i0: tensor<i32> {shoal.sharding = #shoal.sharding<@mesh, []>},
    %i1: tensor<i32> {shoal.sharding = #shoal.sharding<@mesh, []>})
    -> (tensor<97x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %y = shoal.dynamic_update_slice %x, %u [%i0, %i1] : (tensor<97x6xf32>, tensor<6x6xf32>, tensor<i32>, tensor<i32>) -> tensor<97x6xf32>
  return %y : tensor<97x6xf32>
}

// CHECK-LABEL: @dynamic_update_slice_fewer_rows_than_devices
// CHECK-NOT: spmd.{{all_|reduce_|exchange|halo|collective}}
func.func @dynamic_update_slice_fewer_rows_than_devices(%x: tensor<3x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %u: tensor<2x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
    %i0: tensor<i32> {shoal.sharding = #shoal.sharding<@mesh, []>},
    %i1: tensor<i32> {shoal.sharding = #shoal.sharding<@mesh, []>})
    -> (tensor<3x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %y = shoal.dynamic_update_slice %x, %u [%i0, %i1] : (tensor<3x6xf32>, tensor<2x6xf32>, tensor<i32>, tensor<i32>) -> tensor<3x6xf32>
  return %y : tensor<3x6xf32>
}
