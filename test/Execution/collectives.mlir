// Every collective of a hand-written per-device program, on sub-axes and on a
// mesh with a device order of its own: four ranks against the interpreter.
//
// REQUIRES: mpi
// RUN: rm -rf %t && mkdir %t
// RUN: shoalc %s -o %t/f
// RUN: %mpirun -n 4 %t/f --random-inputs=1 --output-dir %t/actual
// RUN: shoal-run %s --devices=4 --random-inputs=1 --output-dir %t/expected
// RUN: diff -r %t/actual %t/expected

shoal.mesh @line = <["x" = 4]>
shoal.mesh @grid = <["x" = 4], device_ids = [0, 2, 1, 3]>

func.func @f(%x: tensor<2x6xi32> {shoal.name = "x", shoal.sharding = #shoal.sharding<@line, [{"x"}, {}]>, shoal.global_type = tensor<7x6xi32>})
    -> (tensor<i32> {shoal.name = "index", shoal.global_type = tensor<i32>},
        tensor<2x6xi32> {shoal.name = "slice", shoal.sharding = #shoal.sharding<@line, [{"x"}, {}]>, shoal.global_type = tensor<7x6xi32>},
        tensor<7x6xi32> {shoal.name = "gather", shoal.global_type = tensor<7x6xi32>},
        tensor<7x6xi32> {shoal.name = "reduce", shoal.global_type = tensor<7x6xi32>},
        tensor<4x3xi32> {shoal.name = "scatter", shoal.sharding = #shoal.sharding<@grid, [{"x":(1)2}, {"x":(2)2}]>, shoal.global_type = tensor<7x6xi32>},
        tensor<2x6xi32> {shoal.name = "exchange", shoal.sharding = #shoal.sharding<@grid, [{"x":(1)2, "x":(2)2}, {}]>, shoal.global_type = tensor<7x6xi32>},
        tensor<2x6xi32> {shoal.name = "permute", shoal.sharding = #shoal.sharding<@grid, [{"x":(2)2, "x":(1)2}, {}]>, shoal.global_type = tensor<7x6xi32>},
        tensor<2x6xi32> {shoal.name = "pairs", shoal.sharding = #shoal.sharding<@grid, [{"x":(2)2, "x":(1)2}, {}]>, shoal.global_type = tensor<7x6xi32>})
    attributes {shoal.spmd} {
  %index = spmd.axis_index @grid {"x":(2)2, "x":(1)2} : tensor<i32>
  %sum = spmd.all_reduce sum @line {"x"} %index : tensor<i32>
  %gather = spmd.all_gather @line [{"x"}, {}] %x : tensor<2x6xi32> -> tensor<7x6xi32>
  %wide = shoal.broadcast_in_dim %index dims = [] : tensor<i32> -> tensor<7x6xi32>
  %mine = arith.muli %gather, %wide : tensor<7x6xi32>
  %reduce = spmd.all_reduce max @grid {"x":(2)2, "x":(1)2} %mine : tensor<7x6xi32>
  %half = spmd.all_reduce sum @line {"x":(1)2} %mine : tensor<7x6xi32>
  %whole = spmd.all_reduce sum @line {"x":(2)2} %half : tensor<7x6xi32>
  %slice = spmd.all_slice @line [{"x"}, {}] %whole : tensor<7x6xi32> -> tensor<2x6xi32>
  %scatter = spmd.reduce_scatter sum @grid [{"x":(1)2}, {"x":(2)2}] %mine : tensor<7x6xi32> -> tensor<4x3xi32>
  %exchange = spmd.all_to_all @grid [{"x":(2)2} : 1 -> 0] %scatter : tensor<4x3xi32> -> tensor<2x6xi32>
  %permute = spmd.collective_permute @grid {"x":(1)2, "x":(2)2} -> @grid {"x":(2)2, "x":(1)2} %exchange : tensor<2x6xi32>
  %numbers = shoal.broadcast_in_dim %index dims = [] : tensor<i32> -> tensor<2x6xi32>
  %pairs = spmd.collective_permute @line {"x"} -> @grid {"x":(2)2, "x":(1)2} %numbers {pairs = array<i64: 0, 1, 3, 0, 2, 2>} : tensor<2x6xi32>
  return %sum, %slice, %gather, %reduce, %scatter, %exchange, %permute, %pairs
      : tensor<i32>, tensor<2x6xi32>, tensor<7x6xi32>, tensor<7x6xi32>, tensor<4x3xi32>, tensor<2x6xi32>, tensor<2x6xi32>, tensor<2x6xi32>
}
