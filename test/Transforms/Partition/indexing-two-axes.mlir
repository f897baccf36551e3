// What gathers, scatters and dynamic slices send where two dimensions are split, and that the values are
// those of one device. Sizes are uneven; the size on a collective's line is what
// each device puts in.
//
// RUN: shoal-opt %s --shoal-partition | FileCheck %s
// RUN: shoal-run %s --entry=dynamic_slice_two_cut_dims --random-inputs=1 --compare
// RUN: shoal-run %s --entry=dynamic_update_slice_two_cut_dims --random-inputs=1 --compare
// RUN: shoal-run %s --entry=gather_vocabulary_and_batch --random-inputs=1 --compare
// RUN: shoal-run %s --entry=gather_batching_and_indexed_dim --random-inputs=1 --compare
// RUN: shoal-run %s --entry=gather_window_dim_and_its_result --random-inputs=1 --compare
// RUN: shoal-run %s --entry=gather_two_indexed_dims --random-inputs=1 --compare
// RUN: shoal-run %s --entry=scatter_operand_and_updates --random-inputs=1 --compare
// RUN: shoal-run %s --entry=scatter_batching_and_operand_dim --random-inputs=1 --compare
// RUN: shoal-run %s --entry=scatter_split_window_into_operand_dim --random-inputs=1 --compare

shoal.mesh @mesh = <["x" = 2, "y" = 2]>

// CHECK-LABEL: @dynamic_slice_two_cut_dims
// CHECK: spmd.all_reduce sum @mesh {"x", "y"} %{{.*}} : tensor<4x5xf32>
func.func @dynamic_slice_two_cut_dims(%x: tensor<97x96xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
    %i0: tensor<i32> {shoal.sharding = #shoal.sharding<@mesh, []>},
    %i1: tensor<i32> {shoal.sharding = #shoal.sharding<@mesh, []>})
    -> (tensor<4x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>}) {
  %y = shoal.dynamic_slice %x [%i0, %i1] sizes = [4, 5] : (tensor<97x96xf32>, tensor<i32>, tensor<i32>) -> tensor<4x5xf32>
  return %y : tensor<4x5xf32>
}

// CHECK-LABEL: @dynamic_update_slice_two_cut_dims
// CHECK-NOT: spmd.{{all_|reduce_|exchange|halo|collective}}
func.func @dynamic_update_slice_two_cut_dims(%x: tensor<9x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
    %u: tensor<4x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
    %i0: tensor<i32> {shoal.sharding = #shoal.sharding<@mesh, []>},
    %i1: tensor<i32> {shoal.sharding = #shoal.sharding<@mesh, []>})
    -> (tensor<9x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %y = shoal.dynamic_update_slice %x, %u [%i0, %i1] : (tensor<9x6xf32>, tensor<4x5xf32>, tensor<i32>, tensor<i32>) -> tensor<9x6xf32>
  return %y : tensor<9x6xf32>
}

// CHECK-LABEL: @gather_vocabulary_and_batch
// CHECK: spmd.all_reduce sum @mesh {"x"} %{{.*}} : tensor<5x6xf32>
func.func @gather_vocabulary_and_batch(%x: tensor<97x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %i: tensor<9xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}]>})
    -> (tensor<9x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {}]>}) {
  %y = shoal.gather %x, %i offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0] index_vector_dim = 1 slice_sizes = [1, 6] : (tensor<97x6xf32>, tensor<9xi32>) -> tensor<9x6xf32>
  return %y : tensor<9x6xf32>
}

// CHECK-LABEL: @gather_batching_and_indexed_dim
// CHECK: spmd.all_reduce sum @mesh {"y"} %{{.*}} : tensor<5xf32>
func.func @gather_batching_and_indexed_dim(%x: tensor<9x7xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
    %i: tensor<9xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>})
    -> (tensor<9xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}) {
  %y = shoal.gather %x, %i offset_dims = [] collapsed_slice_dims = [1] operand_batching_dims = [0] start_indices_batching_dims = [0] start_index_map = [1] index_vector_dim = 1 slice_sizes = [1, 1] : (tensor<9x7xf32>, tensor<9xi32>) -> tensor<9xf32>
  return %y : tensor<9xf32>
}

// CHECK-LABEL: @gather_window_dim_and_its_result
// CHECK: spmd.all_reduce sum @mesh {"x"} %{{.*}} : tensor<2x3xf32>
func.func @gather_window_dim_and_its_result(%x: tensor<97xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>},
    %i: tensor<2x1xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>})
    -> (tensor<2x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y"}]>}) {
  %y = shoal.gather %x, %i offset_dims = [1] collapsed_slice_dims = [] start_index_map = [0] index_vector_dim = 1 slice_sizes = [6] : (tensor<97xf32>, tensor<2x1xi32>) -> tensor<2x6xf32>
  return %y : tensor<2x6xf32>
}

// CHECK-LABEL: @gather_two_indexed_dims
// CHECK: spmd.all_reduce sum @mesh {"x", "y"} %{{.*}} : tensor<5xf32>
func.func @gather_two_indexed_dims(%x: tensor<97x96xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
    %i: tensor<5x2xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>})
    -> (tensor<5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>}) {
  %y = shoal.gather %x, %i offset_dims = [] collapsed_slice_dims = [0, 1] start_index_map = [0, 1] index_vector_dim = 1 slice_sizes = [1, 1] : (tensor<97x96xf32>, tensor<5x2xi32>) -> tensor<5xf32>
  return %y : tensor<5xf32>
}

// CHECK-LABEL: @scatter_operand_and_updates
// CHECK: spmd.all_reduce sum @mesh {"y"} %{{.*}} : tensor<4x6xf32>
func.func @scatter_operand_and_updates(%x: tensor<7x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %i: tensor<97xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}]>},
    %u: tensor<97x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<7x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %y = shoal.scatter sum %x, %i, %u update_window_dims = [1] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0] index_vector_dim = 1 : (tensor<7x6xf32>, tensor<97xi32>, tensor<97x6xf32>) -> tensor<7x6xf32>
  return %y : tensor<7x6xf32>
}

// CHECK-LABEL: @scatter_batching_and_operand_dim
// CHECK-NOT: spmd.{{all_|reduce_|exchange|halo|collective}}
func.func @scatter_batching_and_operand_dim(%x: tensor<9x7xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
    %i: tensor<9xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>},
    %u: tensor<9xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>})
    -> (tensor<9x7xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %y = shoal.scatter sum %x, %i, %u update_window_dims = [] inserted_window_dims = [1] input_batching_dims = [0] scatter_indices_batching_dims = [0] scatter_dims_to_operand_dims = [1] index_vector_dim = 1 : (tensor<9x7xf32>, tensor<9xi32>, tensor<9xf32>) -> tensor<9x7xf32>
  return %y : tensor<9x7xf32>
}

// CHECK-LABEL: @scatter_split_window_into_operand_dim
// CHECK: spmd.all_reduce max @mesh {"y"} %{{.*}} : tensor<5xf32>
func.func @scatter_split_window_into_operand_dim(%x: tensor<9xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>},
    %i: tensor<95x1xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
    %u: tensor<95x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y"}]>})
    -> (tensor<9xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}) {
  %y = shoal.scatter max %x, %i, %u update_window_dims = [1] inserted_window_dims = [] scatter_dims_to_operand_dims = [0] index_vector_dim = 1 : (tensor<9xf32>, tensor<95x1xi32>, tensor<95x3xf32>) -> tensor<9xf32>
  return %y : tensor<9xf32>
}
