// RUN: shoal-opt %s --shoal-simplify-collectives | FileCheck %s

// An all_gather that leaves out a row which the all_slice before it had read is
// not its inverse.
shoal.mesh @mesh = <["x" = 2]>

// CHECK-LABEL: @main
// CHECK: spmd.all_gather @mesh [{"x"}] %{{.*}} : tensor<1xi32> -> tensor<1xi32>
func.func @main(%x: tensor<2xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>, shoal.global_type = tensor<2xi32>})
    -> (tensor<1xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>, shoal.global_type = tensor<1xi32>}) attributes {shoal.spmd} {
  %0 = spmd.all_slice @mesh [{"x"}] %x : tensor<2xi32> -> tensor<1xi32>
  %1 = spmd.all_gather @mesh [{"x"}] %0 : tensor<1xi32> -> tensor<1xi32>
  return %1 : tensor<1xi32>
}
