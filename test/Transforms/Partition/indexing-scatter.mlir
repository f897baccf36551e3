// What scatter sends for each kind of split dimension, and that the values are
// those of one device. Sizes are uneven; the size on a collective's line is what
// each device puts in.
//
// RUN: shoal-opt %s --shoal-partition | FileCheck %s
// RUN: shoal-run %s --entry=scatter_operand_dim --random-inputs=1 --compare
// RUN: shoal-run %s --entry=scatter_operand_dim_overwrite --random-inputs=1 --compare
// RUN: shoal-run %s --entry=scatter_fewer_rows_than_devices --random-inputs=1 --compare
// RUN: shoal-run %s --entry=scatter_window_dim --random-inputs=1 --compare
// RUN: shoal-run %s --entry=scatter_updates_sum --random-inputs=1 --compare
// RUN: shoal-run %s --entry=scatter_updates_sum_scattered --random-inputs=1 --compare
// RUN: shoal-run %s --entry=scatter_updates_max --random-inputs=1 --compare
// RUN: shoal-run %s --entry=scatter_updates_min --random-inputs=1 --compare
// RUN: shoal-run %s --entry=scatter_updates_prod --random-inputs=1 --compare
// RUN: shoal-run %s --entry=scatter_updates_or --random-inputs=1 --compare
// RUN: shoal-run %s --entry=scatter_updates_overwrite --random-inputs=1 --compare
// RUN: shoal-run %s --entry=scatter_batching_dim --random-inputs=1 --compare
// RUN: shoal-run %s --entry=scatter_window_into_operand_dim --random-inputs=1 --compare
// RUN: shoal-run %s --entry=scatter_split_window --random-inputs=1 --compare
// RUN: shoal-run %s --entry=scatter_index_vector_dim --random-inputs=1 --compare

shoal.mesh @mesh = <["x" = 4]>

// Each device keeps what falls into its rows.
// CHECK-LABEL: @scatter_operand_dim
// CHECK-NOT: spmd.{{all_|reduce_|exchange|halo|collective}}
func.func @scatter_operand_dim(%x: tensor<97x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %i: tensor<9xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>},
    %u: tensor<9x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>})
    -> (tensor<97x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %y = shoal.scatter sum %x, %i, %u update_window_dims = [1] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0] index_vector_dim = 1 : (tensor<97x6xf32>, tensor<9xi32>, tensor<9x6xf32>) -> tensor<97x6xf32>
  return %y : tensor<97x6xf32>
}

// CHECK-LABEL: @scatter_operand_dim_overwrite
// CHECK-NOT: spmd.{{all_|reduce_|exchange|halo|collective}}
func.func @scatter_operand_dim_overwrite(%x: tensor<97x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %i: tensor<9xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>},
    %u: tensor<9x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>})
    -> (tensor<97x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %y = shoal.scatter overwrite %x, %i, %u update_window_dims = [1] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0] index_vector_dim = 1 : (tensor<97x6xf32>, tensor<9xi32>, tensor<9x6xf32>) -> tensor<97x6xf32>
  return %y : tensor<97x6xf32>
}

// CHECK-LABEL: @scatter_fewer_rows_than_devices
// CHECK-NOT: spmd.{{all_|reduce_|exchange|halo|collective}}
func.func @scatter_fewer_rows_than_devices(%x: tensor<3x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %i: tensor<9xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>},
    %u: tensor<9x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>})
    -> (tensor<3x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %y = shoal.scatter sum %x, %i, %u update_window_dims = [1] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0] index_vector_dim = 1 : (tensor<3x6xf32>, tensor<9xi32>, tensor<9x6xf32>) -> tensor<3x6xf32>
  return %y : tensor<3x6xf32>
}

// CHECK-LABEL: @scatter_window_dim
// CHECK-NOT: spmd.{{all_|reduce_|exchange|halo|collective}}
func.func @scatter_window_dim(%x: tensor<7x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
    %i: tensor<97xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>},
    %u: tensor<97x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<7x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>}) {
  %y = shoal.scatter sum %x, %i, %u update_window_dims = [1] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0] index_vector_dim = 1 : (tensor<7x6xf32>, tensor<97xi32>, tensor<97x6xf32>) -> tensor<7x6xf32>
  return %y : tensor<7x6xf32>
}

// Sums of the parts of 97 updates; the operand counts once.
// CHECK-LABEL: @scatter_updates_sum
// CHECK: spmd.all_reduce sum @mesh {"x"} %{{.*}} : tensor<7x6xf32>
func.func @scatter_updates_sum(%x: tensor<7x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
    %i: tensor<97xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>},
    %u: tensor<97x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<7x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>}) {
  %y = shoal.scatter sum %x, %i, %u update_window_dims = [1] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0] index_vector_dim = 1 : (tensor<7x6xf32>, tensor<97xi32>, tensor<97x6xf32>) -> tensor<7x6xf32>
  return %y : tensor<7x6xf32>
}

// CHECK-LABEL: @scatter_updates_sum_scattered
// CHECK: spmd.reduce_scatter sum @mesh [{"x"}, {}] %{{.*}} : tensor<7x6xf32> -> tensor<2x6xf32>
func.func @scatter_updates_sum_scattered(%x: tensor<7x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
    %i: tensor<97xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>},
    %u: tensor<97x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<7x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %y = shoal.scatter sum %x, %i, %u update_window_dims = [1] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0] index_vector_dim = 1 : (tensor<7x6xf32>, tensor<97xi32>, tensor<97x6xf32>) -> tensor<7x6xf32>
  return %y : tensor<7x6xf32>
}

// CHECK-LABEL: @scatter_updates_max
// CHECK: spmd.all_reduce max @mesh {"x"} %{{.*}} : tensor<7x6xf32>
func.func @scatter_updates_max(%x: tensor<7x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
    %i: tensor<97xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>},
    %u: tensor<97x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<7x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>}) {
  %y = shoal.scatter max %x, %i, %u update_window_dims = [1] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0] index_vector_dim = 1 : (tensor<7x6xf32>, tensor<97xi32>, tensor<97x6xf32>) -> tensor<7x6xf32>
  return %y : tensor<7x6xf32>
}

// CHECK-LABEL: @scatter_updates_min
// CHECK: spmd.all_reduce min @mesh {"x"} %{{.*}} : tensor<7x6xf32>
func.func @scatter_updates_min(%x: tensor<7x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
    %i: tensor<97xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>},
    %u: tensor<97x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<7x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>}) {
  %y = shoal.scatter min %x, %i, %u update_window_dims = [1] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0] index_vector_dim = 1 : (tensor<7x6xf32>, tensor<97xi32>, tensor<97x6xf32>) -> tensor<7x6xf32>
  return %y : tensor<7x6xf32>
}

// CHECK-LABEL: @scatter_updates_prod
// CHECK: spmd.all_reduce prod @mesh {"x"} %{{.*}} : tensor<7x6xf32>
func.func @scatter_updates_prod(%x: tensor<7x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
    %i: tensor<97xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>},
    %u: tensor<97x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<7x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>}) {
  %y = shoal.scatter prod %x, %i, %u update_window_dims = [1] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0] index_vector_dim = 1 : (tensor<7x6xf32>, tensor<97xi32>, tensor<97x6xf32>) -> tensor<7x6xf32>
  return %y : tensor<7x6xf32>
}

// CHECK-LABEL: @scatter_updates_or
// CHECK: spmd.all_reduce or @mesh {"x"} %{{.*}} : tensor<7x6xi1>
func.func @scatter_updates_or(%x: tensor<7x6xi1> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
    %i: tensor<97xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>},
    %u: tensor<97x6xi1> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<7x6xi1> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>}) {
  %y = shoal.scatter or %x, %i, %u update_window_dims = [1] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0] index_vector_dim = 1 : (tensor<7x6xi1>, tensor<97xi32>, tensor<97x6xi1>) -> tensor<7x6xi1>
  return %y : tensor<7x6xi1>
}

// The last update of all stays: no part of them tells which.
// CHECK-LABEL: @scatter_updates_overwrite
// CHECK: spmd.all_gather @mesh [{"x"}] %{{.*}} : tensor<3xi32> -> tensor<9xi32>
// CHECK: spmd.all_gather @mesh [{"x"}, {}] %{{.*}} : tensor<3x6xf32> -> tensor<9x6xf32>
func.func @scatter_updates_overwrite(%x: tensor<97x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %i: tensor<9xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>},
    %u: tensor<9x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<97x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %y = shoal.scatter overwrite %x, %i, %u update_window_dims = [1] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0] index_vector_dim = 1 : (tensor<97x6xf32>, tensor<9xi32>, tensor<9x6xf32>) -> tensor<97x6xf32>
  return %y : tensor<97x6xf32>
}

// CHECK-LABEL: @scatter_batching_dim
// CHECK-NOT: spmd.{{all_|reduce_|exchange|halo|collective}}
func.func @scatter_batching_dim(%x: tensor<9x7xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %i: tensor<9xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>},
    %u: tensor<9xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>})
    -> (tensor<9x7xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %y = shoal.scatter overwrite %x, %i, %u update_window_dims = [] inserted_window_dims = [1] input_batching_dims = [0] scatter_indices_batching_dims = [0] scatter_dims_to_operand_dims = [1] index_vector_dim = 1 : (tensor<9x7xf32>, tensor<9xi32>, tensor<9xf32>) -> tensor<9x7xf32>
  return %y : tensor<9x7xf32>
}

// Windows of 4 rows that reach over shards.
// CHECK-LABEL: @scatter_window_into_operand_dim
// CHECK-NOT: spmd.{{all_|reduce_|exchange|halo|collective}}
func.func @scatter_window_into_operand_dim(%x: tensor<9xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>},
    %i: tensor<5x1xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
    %u: tensor<5x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>})
    -> (tensor<9xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}) {
  %y = shoal.scatter sum %x, %i, %u update_window_dims = [1] inserted_window_dims = [] scatter_dims_to_operand_dims = [0] index_vector_dim = 1 : (tensor<9xf32>, tensor<5x1xi32>, tensor<5x4xf32>) -> tensor<9xf32>
  return %y : tensor<9xf32>
}

// CHECK-LABEL: @scatter_split_window
// CHECK: spmd.all_reduce sum @mesh {"x"} %{{.*}} : tensor<9xf32>
func.func @scatter_split_window(%x: tensor<9xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>},
    %i: tensor<95x1xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
    %u: tensor<95x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<9xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>}) {
  %y = shoal.scatter sum %x, %i, %u update_window_dims = [1] inserted_window_dims = [] scatter_dims_to_operand_dims = [0] index_vector_dim = 1 : (tensor<9xf32>, tensor<95x1xi32>, tensor<95x6xf32>) -> tensor<9xf32>
  return %y : tensor<9xf32>
}

// CHECK-LABEL: @scatter_index_vector_dim
// CHECK: spmd.all_gather @mesh [{}, {"x"}] %{{.*}} : tensor<5x1xi32> -> tensor<5x2xi32>
func.func @scatter_index_vector_dim(%x: tensor<7x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
    %i: tensor<5x2xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
    %u: tensor<5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>})
    -> (tensor<7x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>}) {
  %y = shoal.scatter sum %x, %i, %u update_window_dims = [] inserted_window_dims = [0, 1] scatter_dims_to_operand_dims = [0, 1] index_vector_dim = 1 : (tensor<7x6xf32>, tensor<5x2xi32>, tensor<5xf32>) -> tensor<7x6xf32>
  return %y : tensor<7x6xf32>
}
