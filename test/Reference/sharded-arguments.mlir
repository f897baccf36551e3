// RUN: rm -rf %t && split-file %s %t
// RUN: shoal-run %t/make.mlir --output-dir %t/out | FileCheck %s --check-prefix=QUIET --allow-empty
// RUN: shoal-run %t/spmd.mlir --input x=%t/out/x.npy --input flags=%t/out/flags.npy --print | FileCheck %t/spmd.mlir
// RUN: shoal-run %t/shards.mlir --input x=%t/out/x.npy --print-shards | FileCheck %t/shards.mlir
// RUN: shoal-run %t/spmd.mlir --random-inputs=7 --devices=4 --output-dir %t/a
// RUN: shoal-run %t/spmd.mlir --random-inputs=7 --output-dir %t/b
// RUN: cmp %t/a/y.npy %t/b/y.npy
// RUN: shoal-run %t/spmd.mlir --random-inputs=8 --output-dir %t/c
// RUN: not cmp %t/a/y.npy %t/c/y.npy

// Global arrays go in and come out; what a device gets is its shard.
// QUIET-NOT: x:

//--- make.mlir

func.func @main() -> (tensor<5x2xf32> {shoal.name = "x"}, tensor<3xi1> {shoal.name = "flags"}) {
  %x = arith.constant dense<[[0., 1.], [2., 3.], [4., 5.], [6., 7.], [8., 9.]]> : tensor<5x2xf32>
  %flags = arith.constant dense<[true, false, true]> : tensor<3xi1>
  return %x, %flags : tensor<5x2xf32>, tensor<3xi1>
}

//--- spmd.mlir

// Positions 0 ... 3 are devices 2, 0, 3, 1.
shoal.mesh @mesh = <["x" = 2, "y" = 2], device_ids = [2, 0, 3, 1]>
// CHECK{LITERAL}: y: tensor<5x2xf32> = [[0, 1], [2, 3], [104, 105], [106, 107], [208, 209]]
// CHECK: flags: tensor<3xi1> = [1, 0, 1]
// CHECK: indices: tensor<4xi32> = [0, 1, 2, 3]
func.func @main(
    %x: tensor<2x2xf32> {shoal.name = "x", shoal.sharding = #shoal.sharding<@mesh, [{"x", "y"}, {}]>, shoal.global_type = tensor<5x2xf32>},
    %flags: tensor<2xi1> {shoal.name = "flags", shoal.sharding = #shoal.sharding<@mesh, [{"y"}]>, shoal.global_type = tensor<3xi1>})
    -> (tensor<2x2xf32> {shoal.name = "y", shoal.sharding = #shoal.sharding<@mesh, [{"x", "y"}, {}]>, shoal.global_type = tensor<5x2xf32>},
        tensor<2xi1> {shoal.name = "flags", shoal.sharding = #shoal.sharding<@mesh, [{"y"}]>, shoal.global_type = tensor<3xi1>},
        tensor<1xi32> {shoal.name = "indices", shoal.sharding = #shoal.sharding<@mesh, [{"x", "y"}]>, shoal.global_type = tensor<4xi32>})
    attributes {shoal.spmd} {
  %i = spmd.axis_index @mesh {"x", "y"} : tensor<i32>
  %indices = shoal.reshape %i : tensor<i32> -> tensor<1xi32>
  %hundred = arith.constant dense<100.0> : tensor<f32>
  %f = arith.sitofp %i : tensor<i32> to tensor<f32>
  %g = arith.mulf %f, %hundred : tensor<f32>
  %h = shoal.broadcast_in_dim %g dims = [] : tensor<f32> -> tensor<2x2xf32>
  %y = arith.addf %x, %h : tensor<2x2xf32>
  return %y, %flags, %indices : tensor<2x2xf32>, tensor<2xi1>, tensor<1xi32>
}

//--- shards.mlir

// Without a sharding an argument is whole on each device. Sub-axes split it
// like whole ones; a sum over a shard sees its padding.
shoal.mesh @mesh = <["x" = 4]>
func.func @main(%x: tensor<3x2xf32> {shoal.name = "x", shoal.sharding = #shoal.sharding<@mesh, [{"x":(2)2}, {}]>, shoal.global_type = tensor<5x2xf32>})
    -> (tensor<3x2xf32> {shoal.name = "shard"}, tensor<2xf32> {shoal.name = "sum"}) attributes {shoal.spmd} {
  // CHECK{LITERAL}: shard on device 0: tensor<3x2xf32> = [[0, 1], [2, 3], [4, 5]]
  // CHECK{LITERAL}: shard on device 1: tensor<3x2xf32> = [[6, 7], [8, 9], [nan, nan]]
  // CHECK{LITERAL}: shard on device 2: tensor<3x2xf32> = [[0, 1], [2, 3], [4, 5]]
  // CHECK{LITERAL}: shard on device 3: tensor<3x2xf32> = [[6, 7], [8, 9], [nan, nan]]
  %sum = shoal.reduce sum %x dims = [0] : tensor<3x2xf32> -> tensor<2xf32>
  // CHECK: sum on device 0: tensor<2xf32> = [6, 9]
  // CHECK: sum on device 1: tensor<2xf32> = [nan, nan]
  return %x, %sum : tensor<3x2xf32>, tensor<2xf32>
}
