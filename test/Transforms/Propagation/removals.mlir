// RUN: shoal-opt %s --split-input-file --shoal-partition="removals" | FileCheck %s

// A maximum that the op takes over devices by itself has something that does
// away with it, too.
shoal.mesh @mesh = <["x" = 4]>
// CHECK-LABEL: @own_exchange
// CHECK: spmd.all_reduce max {{.*}}why = "max over a split dimension; gone without <@mesh, [{}, {\22x\22}]> of argument 0 \22a\22 at {{.*}}removals.mlir:[[@LINE+1]]:{{[0-9]+}}: a device sends 0, at
func.func @own_exchange(%a: tensor<8x16xf32> {shoal.name = "a", shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>}) -> tensor<8xf32> {
  %m = shoal.reduce max %a dims = [1] : tensor<8x16xf32> -> tensor<8xf32>
  return %m : tensor<8xf32>
}

// -----

// What a program sends by itself no annotation does away with.
shoal.mesh @mesh = <["x" = 4]>
// CHECK-LABEL: @own_collective
// CHECK: spmd.all_reduce sum {{.*}}why = "spmd.all_reduce of the program; sent by the program itself, whatever its annotations"
func.func @own_collective(%a: tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  %y = shoal.manual_computation @mesh {"x"}(%a) in [#shoal.sharding<@mesh, [{"x"}]>] out [#shoal.sharding<@mesh, [{"x"}]>] {
  ^bb0(%p: tensor<2xf32>):
    %s = spmd.all_reduce sum @mesh {"x"} %p : tensor<2xf32>
    shoal.yield %s : tensor<2xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// Each device has the rows that it keeps.
shoal.mesh @mesh = <["x" = 2]>
// CHECK-LABEL: @own_rows
// CHECK: spmd.halo_exchange {{.*}}why = "rows of shoal.slice; nothing is sent: each device has the rows that it reads"
func.func @own_rows(%a: tensor<4x2xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<2x2xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %r = shoal.slice %a starts = [1, 0] limits = [3, 2] strides = [1, 1] : tensor<4x2xf32> -> tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}

// -----

// Nor is anything sent of what has no elements.
shoal.mesh @mesh = <["x" = 2]>
// CHECK-LABEL: @no_elements
// CHECK: spmd.all_gather {{.*}}nothing is sent: it has no elements"
func.func @no_elements(%a: tensor<4x0xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4x0xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>}) {
  %r = math.exp %a : tensor<4x0xf32>
  return %r : tensor<4x0xf32>
}
