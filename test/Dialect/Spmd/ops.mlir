// RUN: shoal-opt %s | shoal-opt | FileCheck %s
// RUN: shoal-opt %s --mlir-print-op-generic | shoal-opt | FileCheck %s

// Every collective survives a round trip, also by its generic form.

shoal.mesh @mesh = <["x" = 2, "y" = 4]>
shoal.mesh @ordered = <["x" = 2, "y" = 4], device_ids = [7, 6, 5, 4, 3, 2, 1, 0]>

// CHECK-LABEL: func @collectives(
func.func @collectives(%x: tensor<4x6xf32>) {
  // CHECK: spmd.axis_index @mesh {"x", "y"} : tensor<i32>
  %0 = spmd.axis_index @mesh {"x", "y"} : tensor<i32>
  // CHECK: spmd.axis_index @mesh {} : tensor<i32>
  %1 = spmd.axis_index @mesh {} : tensor<i32>
  // CHECK: spmd.all_slice @mesh [{"x"}, {"y":(2)2}] %{{.*}} : tensor<4x6xf32> -> tensor<2x3xf32>
  %2 = spmd.all_slice @mesh [{"x"}, {"y":(2)2}] %x : tensor<4x6xf32> -> tensor<2x3xf32>
  // CHECK: spmd.all_gather @mesh [{}, {"y"}] %{{.*}} {why = "operand 0"} : tensor<4x6xf32> -> tensor<4x23xf32>
  %3 = spmd.all_gather @mesh [{}, {"y"}] %x {why = "operand 0"} : tensor<4x6xf32> -> tensor<4x23xf32>
  // CHECK: spmd.all_reduce sum @mesh {"x"} %{{.*}} : tensor<4x6xf32>
  %4 = spmd.all_reduce sum @mesh {"x"} %x : tensor<4x6xf32>
  // CHECK: spmd.reduce_scatter max @mesh [{"x"}, {"y"}] %{{.*}} : tensor<4x6xf32> -> tensor<2x2xf32>
  %5 = spmd.reduce_scatter max @mesh [{"x"}, {"y"}] %x : tensor<4x6xf32> -> tensor<2x2xf32>
  // CHECK: spmd.all_to_all @mesh [{"x"} : 0 -> 1] %{{.*}} : tensor<4x6xf32> -> tensor<8x3xf32>
  %6 = spmd.all_to_all @mesh [{"x"} : 0 -> 1] %x : tensor<4x6xf32> -> tensor<8x3xf32>
  // CHECK: spmd.all_to_all @mesh [{"x"} : 0 -> 1, {"y"} : 0 -> 1] %{{.*}} : tensor<4x6xf32> -> tensor<32x1xf32>
  %7 = spmd.all_to_all @mesh [{"x"} : 0 -> 1, {"y"} : 0 -> 1] %x : tensor<4x6xf32> -> tensor<32x1xf32>
  // CHECK: spmd.collective_permute @mesh {"x", "y"} -> @mesh {"y", "x"} %{{.*}} : tensor<4x6xf32>
  %8 = spmd.collective_permute @mesh {"x", "y"} -> @mesh {"y", "x"} %x : tensor<4x6xf32>
  // CHECK: spmd.collective_permute @mesh {"y":(1)2, "y":(2)2} -> @ordered {"y"} %{{.*}} : tensor<4x6xf32>
  %9 = spmd.collective_permute @mesh {"y":(1)2, "y":(2)2} -> @ordered {"y"} %x : tensor<4x6xf32>
  // CHECK: spmd.collective_permute @mesh {"x"} -> @mesh {"x"} %{{.*}} {shift = 1 : i64, why = "next"} : tensor<4x6xf32>
  %13 = spmd.collective_permute @mesh {"x"} -> @mesh {"x"} %x {shift = 1, why = "next"} : tensor<4x6xf32>
  // CHECK: spmd.collective_permute @mesh {"y"} -> @mesh {"y"} %{{.*}} {pairs = array<i64: 0, 3, 3, 1>} : tensor<4x6xf32>
  %15 = spmd.collective_permute @mesh {"y"} -> @mesh {"y"} %x {pairs = array<i64: 0, 3, 3, 1>} : tensor<4x6xf32>
  // CHECK: spmd.halo_exchange @mesh {"x"} %{{.*}} {dim = 0 : i64, offset = -1 : i64, size = 7 : i64, step = 4 : i64, why = "operand 0"} : tensor<4x6xf32> -> tensor<6x6xf32>
  %10 = spmd.halo_exchange @mesh {"x"} %x {dim = 0, size = 7, step = 4, offset = -1, why = "operand 0"} : tensor<4x6xf32> -> tensor<6x6xf32>
  // CHECK: spmd.halo_exchange @ordered {"y"} %{{.*}} {dim = 1 : i64, divisor = 2 : i64, offset = 46 : i64, size = 23 : i64, step = -6 : i64} : tensor<4x6xf32> -> tensor<4x0xf32>
  %11 = spmd.halo_exchange @ordered {"y"} %x {dim = 1, size = 23, step = -6, offset = 46, divisor = 2} : tensor<4x6xf32> -> tensor<4x0xf32>
  // CHECK: spmd.exchange @mesh [{"x"}, {}] -> @ordered [{}, {"y":(1)2}] %{{.*}} shape = [7, 6] {why = "operand 0"} : tensor<4x6xf32> -> tensor<7x3xf32>
  %12 = spmd.exchange @mesh [{"x"}, {}] -> @ordered [{}, {"y":(1)2}] %x shape = [7, 6] {why = "operand 0"} : tensor<4x6xf32> -> tensor<7x3xf32>
  // CHECK: spmd.ragged_all_to_all @mesh {"x"} %{{.*}} into %{{.*}} send(%[[I:.*]], %[[I]]) to(%[[I]]) receive(%[[I]]) {mean_rows = 3 : i64, why = "rows"} : tensor<4x6xf32> into tensor<4x6xf32>, tensor<4xi32>
  %i = arith.constant dense<0> : tensor<4xi32>
  %14 = spmd.ragged_all_to_all @mesh {"x"} %x into %4 send(%i, %i) to(%i) receive(%i) {mean_rows = 3 : i64, why = "rows"} : tensor<4x6xf32> into tensor<4x6xf32>, tensor<4xi32>
  return
}
