// Gathers, scatters and dynamic slices on split dimensions: four ranks against
// the interpreter, every form that a local op takes.
//
// REQUIRES: mpi
// RUN: rm -rf %t && mkdir %t
// RUN: shoalc %s -o %t/f
// RUN: %mpirun -n 4 %t/f --random-inputs=1 --output-dir %t/actual
// RUN: shoal-run %s --devices=0 --random-inputs=1 --output-dir %t/expected
// RUN: diff -r %t/actual %t/expected

shoal.mesh @mesh = <["x" = 2, "y" = 2]>

func.func @f(
    %table: tensor<7x5xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x", "y"}, {}]>},
    %seeds: tensor<9xi32>,
    %cache: tensor<3x9x2xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y"}, {}]>},
    %step: tensor<3x1x2xi32>, %at: tensor<i32>,
    %updates: tensor<9x5xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %bits: tensor<7xi1> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>})
    -> (tensor<9x5xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {}]>},
        tensor<3x4x2xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}, {}]>},
        tensor<3x9x2xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y"}, {}]>},
        tensor<7x5xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {}]>},
        tensor<7x5xi32>, tensor<7x5xi32>, tensor<9x1xi1>) {
  // Random numbers brought to where most of them are places.
  %nine = arith.constant dense<9> : tensor<9xi32>
  %ids = arith.remsi %seeds, %nine : tensor<9xi32>
  %three = arith.constant dense<3> : tensor<i32>
  %start = arith.remsi %at, %three : tensor<i32>
  %zero = arith.constant dense<0> : tensor<i32>
  %rows = shoal.gather %table, %ids offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0]
      index_vector_dim = 1 slice_sizes = [1, 5] : (tensor<7x5xi32>, tensor<9xi32>) -> tensor<9x5xi32>
  %window = shoal.dynamic_slice %cache [%zero, %start, %zero] sizes = [3, 4, 2]
      : (tensor<3x9x2xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x4x2xi32>
  %appended = shoal.dynamic_update_slice %cache, %step [%zero, %start, %zero]
      : (tensor<3x9x2xi32>, tensor<3x1x2xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x9x2xi32>
  %sum = shoal.scatter sum %table, %ids, %updates update_window_dims = [1] inserted_window_dims = [0]
      scatter_dims_to_operand_dims = [0] index_vector_dim = 1
      : (tensor<7x5xi32>, tensor<9xi32>, tensor<9x5xi32>) -> tensor<7x5xi32>
  %max = shoal.scatter max %table, %ids, %updates update_window_dims = [1] inserted_window_dims = [0]
      scatter_dims_to_operand_dims = [0] index_vector_dim = 1
      : (tensor<7x5xi32>, tensor<9xi32>, tensor<9x5xi32>) -> tensor<7x5xi32>
  %last = shoal.scatter overwrite %table, %ids, %updates update_window_dims = [1] inserted_window_dims = [0]
      scatter_dims_to_operand_dims = [0] index_vector_dim = 1
      : (tensor<7x5xi32>, tensor<9xi32>, tensor<9x5xi32>) -> tensor<7x5xi32>
  %flags = shoal.gather %bits, %ids offset_dims = [1] collapsed_slice_dims = [] start_index_map = [0]
      index_vector_dim = 1 slice_sizes = [1] : (tensor<7xi1>, tensor<9xi32>) -> tensor<9x1xi1>
  return %rows, %window, %appended, %sum, %max, %last, %flags
      : tensor<9x5xi32>, tensor<3x4x2xi32>, tensor<3x9x2xi32>, tensor<7x5xi32>, tensor<7x5xi32>, tensor<7x5xi32>, tensor<9x1xi1>
}
