// RUN: rm -rf %t && split-file %s %t
// RUN: shoal-run %t/sums.mlir --random-inputs=3 --compare | FileCheck %s
// RUN: shoal-opt %t/sums.mlir --shoal-partition | FileCheck %s --check-prefix=SUMS
// RUN: shoal-run %t/blocks.mlir --random-inputs=3 --compare | FileCheck %s
// RUN: shoal-opt %t/blocks.mlir --shoal-partition | FileCheck %s --check-prefix=BLOCKS
// RUN: shoal-run %t/regions.mlir --random-inputs=3 --compare | FileCheck %s
// RUN: shoal-opt %t/regions.mlir --shoal-partition | FileCheck %s --check-prefix=REGIONS
// RUN: shoal-opt %t/gradients.mlir --shoal-differentiate="function=loss mode=vjp" -o %t/vjp.mlir
// RUN: shoal-run %t/vjp.mlir --entry=loss_vjp --random-inputs=3 --compare | FileCheck %s
// RUN: shoalc %t/blocks.mlir -o %t/blocks
// RUN: %mpirun -n 8 %t/blocks --random-inputs=3 --output-dir=%t/executable
// RUN: shoal-run %t/blocks.mlir --devices=8 --random-inputs=3 --output-dir=%t/interpreter
// RUN: cmp %t/executable/result1.npy %t/interpreter/result1.npy
// RUN: cmp %t/executable/result2.npy %t/interpreter/result2.npy

// Values that annotations say are held as addends: what the partitioned program
// has of them adds up to what the global one has.
// CHECK: result0: {{.*}}: ok

// A product over a split dimension is left as it is, and so is what comes in:
// nothing is sent but for what is to be whole.
// SUMS: func.func @main(%{{.*}}: tensor<8x3xf32> {{.*}}, %{{.*}}: tensor<3x4xf32> {{.*}}, %{{.*}}: tensor<1x8x4xf32> {shoal.addends
// SUMS-SAME: -> (tensor<1x8x4xf32> {shoal.addends,
// SUMS-NOT: spmd.all
// SUMS: spmd.all_reduce sum @mesh {"x"} {{.*}} : tensor<8x4xf32>
// SUMS-NOT: spmd.all

//--- sums.mlir

shoal.mesh @mesh = <["x" = 4]>
func.func @main(%a: tensor<8x12xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
                %b: tensor<12x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
                %c: tensor<8x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}], partial = {"x"}>})
    -> (tensor<8x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}], partial = {"x"}>},
        tensor<8x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>}) {
  %p = shoal.einsum "IK,KJ->IJ" %a, %b : (tensor<8x12xf32>, tensor<12x4xf32>) -> tensor<8x4xf32>
  %s = arith.addf %p, %c : tensor<8x4xf32>
  %u = shoal.sharding_constraint %s <@mesh, [{}, {}], partial = {"x"}> : tensor<8x4xf32>
  %m = math.tanh %u : tensor<8x4xf32>
  return %u, %m : tensor<8x4xf32>, tensor<8x4xf32>
}

// Split values, also where blocks do not divide and where another axis splits
// them before and behind, become addends without a collective; values that are
// whole keep them on one device.
// BLOCKS-NOT: spmd.all_gather
// BLOCKS: shoal.dynamic_update_slice {{.*}} : (tensor<16x3xf32>, tensor<4x3xf32>
// BLOCKS-NOT: spmd.all_gather
// BLOCKS: return

//--- blocks.mlir

shoal.mesh @mesh = <["x" = 4, "y" = 2]>
func.func @main(%a: tensor<15x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
                %b: tensor<8x6xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"y", "x"}, {}]>},
                %c: tensor<5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>})
    -> (tensor<15x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y"}], partial = {"x"}>},
        tensor<8x6xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {}], partial = {"x"}>},
        tensor<5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}], partial = {"x"}>}) {
  %e = math.tanh %a : tensor<15x6xf32>
  return %e, %b, %c : tensor<15x6xf32>, tensor<8x6xi32>, tensor<5xf32>
}

// A region gets addends as they are, and its results are sums of what devices
// yield. The axis that is not manual is partial around and in it.
// REGIONS-NOT: spmd.
// REGIONS: spmd.all_reduce sum @mesh {"x"} {{.*}} : tensor<8x4xf32>
// REGIONS-NOT: spmd.

//--- regions.mlir

shoal.mesh @mesh = <["x" = 4, "y" = 2]>
func.func @main(%a: tensor<8x12xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
                %b: tensor<12x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
                %c: tensor<8x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}], partial = {"x", "y"}>})
    -> (tensor<8x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
        tensor<8x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}], partial = {"x", "y"}>}) {
  %p = shoal.manual_computation @mesh {"x"} (%a, %b)
      in [#shoal.sharding<@mesh, [{}, {"x"}]>, #shoal.sharding<@mesh, [{"x"}, {}]>]
      out [#shoal.sharding<@mesh, [{}, {}], partial = {"x"}>] {
  ^bb0(%al: tensor<8x3xf32>, %bl: tensor<3x4xf32>):
    %pl = shoal.einsum "IK,KJ->IJ" %al, %bl : (tensor<8x3xf32>, tensor<3x4xf32>) -> tensor<8x4xf32>
    shoal.yield %pl : tensor<8x4xf32>
  } : (tensor<8x12xf32>, tensor<12x4xf32>) -> tensor<8x4xf32>
  %q = shoal.manual_computation @mesh {"x"} (%p)
      in [#shoal.sharding<@mesh, [{}, {}], partial = {"x"}>] out [#shoal.sharding<@mesh, [{}, {}]>] {
  ^bb0(%pl: tensor<8x4xf32>):
    %all = spmd.all_reduce sum @mesh {"x"} %pl : tensor<8x4xf32>
    shoal.yield %all : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %d = shoal.manual_computation @mesh {"x"} (%c)
      in [#shoal.sharding<@mesh, [{}, {}], partial = {"x", "y"}>]
      out [#shoal.sharding<@mesh, [{}, {}], partial = {"x", "y"}>] {
  ^bb0(%cl: tensor<8x4xf32>):
    %twice = arith.addf %cl, %cl : tensor<8x4xf32>
    shoal.yield %twice : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %q, %d : tensor<8x4xf32>, tensor<8x4xf32>
}

// The cotangent of addends is that of their sum.

//--- gradients.mlir

shoal.mesh @mesh = <["x" = 4]>
func.func @loss(%a: tensor<8x12xf32>, %b: tensor<12x4xf32>) -> tensor<f32> {
  %p = shoal.manual_computation @mesh {"x"} (%a, %b)
      in [#shoal.sharding<@mesh, [{}, {"x"}]>, #shoal.sharding<@mesh, [{"x"}, {}]>]
      out [#shoal.sharding<@mesh, [{}, {}], partial = {"x"}>] {
  ^bb0(%al: tensor<8x3xf32>, %bl: tensor<3x4xf32>):
    %pl = shoal.einsum "IK,KJ->IJ" %al, %bl : (tensor<8x3xf32>, tensor<3x4xf32>) -> tensor<8x4xf32>
    shoal.yield %pl : tensor<8x4xf32>
  } : (tensor<8x12xf32>, tensor<12x4xf32>) -> tensor<8x4xf32>
  %u = shoal.sharding_constraint %p <@mesh, [{}, {}], partial = {"x"}> : tensor<8x4xf32>
  %q = shoal.manual_computation @mesh {"x"} (%u)
      in [#shoal.sharding<@mesh, [{}, {}], partial = {"x"}>] out [#shoal.sharding<@mesh, [{"x"}, {}]>] {
  ^bb0(%pl: tensor<8x4xf32>):
    %own = spmd.reduce_scatter sum @mesh [{"x"}, {}] %pl : tensor<8x4xf32> -> tensor<2x4xf32>
    %t = math.tanh %own : tensor<2x4xf32>
    shoal.yield %t : tensor<2x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %s = shoal.reduce sum %q dims = [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %s : tensor<f32>
}
