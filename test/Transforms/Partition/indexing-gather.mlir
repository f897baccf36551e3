// What gather sends for each kind of split dimension, and that the values are
// those of one device. Sizes are uneven; the size on a collective's line is what
// each device puts in.
//
// RUN: shoal-opt %s --shoal-partition | FileCheck %s
// RUN: shoal-run %s --entry=gather_batch_dim --random-inputs=1 --compare
// RUN: shoal-run %s --entry=gather_offset_dim --random-inputs=1 --compare
// RUN: shoal-run %s --entry=gather_vocabulary --random-inputs=1 --compare
// RUN: shoal-run %s --entry=gather_vocabulary_scattered --random-inputs=1 --compare
// RUN: shoal-run %s --entry=gather_fewer_rows_than_devices --random-inputs=1 --compare
// RUN: shoal-run %s --entry=gather_batching_dim --random-inputs=1 --compare
// RUN: shoal-run %s --entry=gather_window_dim --random-inputs=1 --compare
// RUN: shoal-run %s --entry=gather_result_window_dim --random-inputs=1 --compare
// RUN: shoal-run %s --entry=gather_index_vector_dim --random-inputs=1 --compare
// RUN: shoal-run %s --entry=gather_booleans --random-inputs=1 --compare

shoal.mesh @mesh = <["x" = 4]>

// CHECK-LABEL: @gather_batch_dim
// CHECK-NOT: spmd.{{all_|reduce_|exchange|halo|collective}}
func.func @gather_batch_dim(%x: tensor<97x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
    %i: tensor<9xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>})
    -> (tensor<9x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %y = shoal.gather %x, %i offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0] index_vector_dim = 1 slice_sizes = [1, 6] : (tensor<97x6xf32>, tensor<9xi32>) -> tensor<9x6xf32>
  return %y : tensor<9x6xf32>
}

// CHECK-LABEL: @gather_offset_dim
// CHECK-NOT: spmd.{{all_|reduce_|exchange|halo|collective}}
func.func @gather_offset_dim(%x: tensor<97x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
    %i: tensor<9xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>})
    -> (tensor<9x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>}) {
  %y = shoal.gather %x, %i offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0] index_vector_dim = 1 slice_sizes = [1, 6] : (tensor<97x6xf32>, tensor<9xi32>) -> tensor<9x6xf32>
  return %y : tensor<9x6xf32>
}

// Embeddings of 9 tokens from a table split by rows: each device looks up what it
// holds; 9 x 6 elements are added up, the table stays where it is.
// CHECK-LABEL: @gather_vocabulary
// CHECK: spmd.all_reduce sum @mesh {"x"} %{{.*}} : tensor<9x6xf32>
func.func @gather_vocabulary(%x: tensor<97x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %i: tensor<9xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>})
    -> (tensor<9x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>}) {
  %y = shoal.gather %x, %i offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0] index_vector_dim = 1 slice_sizes = [1, 6] : (tensor<97x6xf32>, tensor<9xi32>) -> tensor<9x6xf32>
  return %y : tensor<9x6xf32>
}

// CHECK-LABEL: @gather_vocabulary_scattered
// CHECK: spmd.reduce_scatter sum @mesh [{"x"}, {}] %{{.*}} : tensor<9x6xf32> -> tensor<3x6xf32>
func.func @gather_vocabulary_scattered(%x: tensor<97x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %i: tensor<9xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>})
    -> (tensor<9x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %y = shoal.gather %x, %i offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0] index_vector_dim = 1 slice_sizes = [1, 6] : (tensor<97x6xf32>, tensor<9xi32>) -> tensor<9x6xf32>
  return %y : tensor<9x6xf32>
}

// The last device holds none of 3 rows.
// CHECK-LABEL: @gather_fewer_rows_than_devices
// CHECK: spmd.all_reduce sum @mesh {"x"} %{{.*}} : tensor<1xf32>
func.func @gather_fewer_rows_than_devices(%x: tensor<3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>},
    %i: tensor<1xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>})
    -> (tensor<1xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>}) {
  %y = shoal.gather %x, %i offset_dims = [] collapsed_slice_dims = [0] start_index_map = [0] index_vector_dim = 1 slice_sizes = [1] : (tensor<3xf32>, tensor<1xi32>) -> tensor<1xf32>
  return %y : tensor<1xf32>
}

// CHECK-LABEL: @gather_batching_dim
// CHECK-NOT: spmd.{{all_|reduce_|exchange|halo|collective}}
func.func @gather_batching_dim(%x: tensor<9x7xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %i: tensor<9xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>})
    -> (tensor<9xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}) {
  %y = shoal.gather %x, %i offset_dims = [] collapsed_slice_dims = [1] operand_batching_dims = [0] start_indices_batching_dims = [0] start_index_map = [1] index_vector_dim = 1 slice_sizes = [1, 1] : (tensor<9x7xf32>, tensor<9xi32>) -> tensor<9xf32>
  return %y : tensor<9xf32>
}

// Windows of 6 rows that reach over shards.
// CHECK-LABEL: @gather_window_dim
// CHECK: spmd.all_reduce sum @mesh {"x"} %{{.*}} : tensor<2x6xf32>
func.func @gather_window_dim(%x: tensor<97xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>},
    %i: tensor<2x1xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>})
    -> (tensor<2x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>}) {
  %y = shoal.gather %x, %i offset_dims = [1] collapsed_slice_dims = [] start_index_map = [0] index_vector_dim = 1 slice_sizes = [6] : (tensor<97xf32>, tensor<2x1xi32>) -> tensor<2x6xf32>
  return %y : tensor<2x6xf32>
}

// CHECK-LABEL: @gather_result_window_dim
// CHECK-NOT: spmd.{{all_|reduce_|exchange|halo|collective}}
func.func @gather_result_window_dim(%x: tensor<97xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>},
    %i: tensor<2x1xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>})
    -> (tensor<2x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>}) {
  %y = shoal.gather %x, %i offset_dims = [1] collapsed_slice_dims = [] start_index_map = [0] index_vector_dim = 1 slice_sizes = [6] : (tensor<97xf32>, tensor<2x1xi32>) -> tensor<2x6xf32>
  return %y : tensor<2x6xf32>
}

// An index is read whole: each device gets the others' parts of its indices, and no
// more.
// CHECK-LABEL: @gather_index_vector_dim
// CHECK: spmd.exchange @mesh [{}, {"x"}] -> @mesh [{"x"}, {}] %{{.*}} : tensor<5x1xi32> -> tensor<2x2xi32>
func.func @gather_index_vector_dim(%x: tensor<7x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
    %i: tensor<5x2xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}) {
  %y = shoal.gather %x, %i offset_dims = [] collapsed_slice_dims = [0, 1] start_index_map = [0, 1] index_vector_dim = 1 slice_sizes = [1, 1] : (tensor<7x6xf32>, tensor<5x2xi32>) -> tensor<5xf32>
  return %y : tensor<5xf32>
}

// CHECK-LABEL: @gather_booleans
// CHECK: spmd.all_reduce or @mesh {"x"} %{{.*}} : tensor<2x6xi1>
func.func @gather_booleans(%x: tensor<97x6xi1> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %i: tensor<2xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>})
    -> (tensor<2x6xi1> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>}) {
  %y = shoal.gather %x, %i offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0] index_vector_dim = 1 slice_sizes = [1, 6] : (tensor<97x6xi1>, tensor<2xi32>) -> tensor<2x6xi1>
  return %y : tensor<2x6xi1>
}
