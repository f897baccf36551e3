// halo_exchange and exchange of a hand-written per-device program on uneven
// dimensions, sub-axes, and a mesh with a device order of its own: four ranks
// against the interpreter, whose rows are looked up one by one.
//
// REQUIRES: mpi
// RUN: rm -rf %t && mkdir %t
// RUN: shoalc %s -o %t/f --stats=%t/price.json
// RUN: FileCheck %s --check-prefix=PRICE --input-file %t/price.json
// RUN: %mpirun -n 4 %t/f --random-inputs=1 --output-dir %t/actual --stats %t/stats.json
// RUN: shoal-run %s --devices=4 --random-inputs=1 --output-dir %t/expected
// RUN: diff -r %t/actual %t/expected
// RUN: FileCheck %s --check-prefix=STATS --input-file %t/stats.json

// Of a halo exchange counts what a device receives, of an exchange the greater
// of that and what it sends. Windows lack 1 and 2 rows of 6 numbers. The
// exchanges move up to 12, 14, 22 and 24 numbers, but
// no one device is the busiest in all of them.
// STATS: "exchange": 280
// STATS: "halo_exchange": 72
// PRICE: "exchange": 288
// PRICE: "halo_exchange": 72

shoal.mesh @line = <["x" = 4]>
shoal.mesh @grid = <["x" = 4], device_ids = [0, 2, 1, 3]>

func.func @f(%x: tensor<2x6xi32> {shoal.name = "x", shoal.sharding = #shoal.sharding<@line, [{"x"}, {}]>, shoal.global_type = tensor<7x6xi32>})
    -> (tensor<2x6xi32> {shoal.name = "windows", shoal.sharding = #shoal.sharding<@line, [{"x"}, {}]>, shoal.global_type = tensor<7x6xi32>},
        tensor<2x6xi32> {shoal.name = "backwards", shoal.sharding = #shoal.sharding<@line, [{"x"}, {}]>, shoal.global_type = tensor<7x6xi32>},
        tensor<4x3xi32> {shoal.name = "blocks", shoal.sharding = #shoal.sharding<@line, [{"x":(2)2}, {"x":(1)2}]>, shoal.global_type = tensor<7x6xi32>},
        tensor<7x2xi32> {shoal.name = "columns", shoal.sharding = #shoal.sharding<@grid, [{}, {"x"}]>, shoal.global_type = tensor<7x6xi32>},
        tensor<4x6xi32> {shoal.name = "half", shoal.sharding = #shoal.sharding<@grid, [{"x":(2)2}, {}]>, shoal.global_type = tensor<7x6xi32>},
        tensor<7x6xi32> {shoal.name = "whole", shoal.global_type = tensor<7x6xi32>})
    attributes {shoal.spmd} {
  // Each row plus the one before it; the first one alone.
  %before = spmd.halo_exchange @line {"x"} %x {dim = 0, size = 7, step = 2, offset = -1} : tensor<2x6xi32> -> tensor<2x6xi32>
  %index = spmd.axis_index @line {"x"} : tensor<i32>
  %two = arith.constant dense<2> : tensor<i32>
  %first = arith.muli %index, %two : tensor<i32>
  %first_rows = shoal.broadcast_in_dim %first dims = [] : tensor<i32> -> tensor<2x6xi32>
  %i = shoal.iota dim = 0 : tensor<2x6xi32>
  %row = arith.addi %first_rows, %i : tensor<2x6xi32>
  %zero = arith.constant dense<0> : tensor<2x6xi32>
  %has = arith.cmpi sgt, %row, %zero : tensor<2x6xi32>
  %masked = arith.select %has, %before, %zero : tensor<2x6xi1>, tensor<2x6xi32>
  %windows = arith.addi %x, %masked : tensor<2x6xi32>
  %backwards = spmd.halo_exchange @line {"x"} %x {dim = 0, size = 7, step = -1, offset = 5} : tensor<2x6xi32> -> tensor<2x6xi32>
  %blocks = spmd.exchange @line [{"x"}, {}] -> @line [{"x":(2)2}, {"x":(1)2}] %x shape = [7, 6] : tensor<2x6xi32> -> tensor<4x3xi32>
  %columns = spmd.exchange @line [{"x":(2)2}, {"x":(1)2}] -> @grid [{}, {"x"}] %blocks shape = [7, 6] : tensor<4x3xi32> -> tensor<7x2xi32>
  %half = spmd.exchange @grid [{}, {"x"}] -> @grid [{"x":(2)2}, {}] %columns shape = [7, 6] : tensor<7x2xi32> -> tensor<4x6xi32>
  %whole = spmd.exchange @grid [{"x":(2)2}, {}] -> @line [{}, {}] %half shape = [7, 6] : tensor<4x6xi32> -> tensor<7x6xi32>
  return %windows, %backwards, %blocks, %columns, %half, %whole
      : tensor<2x6xi32>, tensor<2x6xi32>, tensor<4x3xi32>, tensor<7x2xi32>, tensor<4x6xi32>, tensor<7x6xi32>
}
