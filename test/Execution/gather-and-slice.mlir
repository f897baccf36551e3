// What is gathered on one mesh and sliced on another with the same devices in
// another order: dimension 2 is gathered from y and cut for a part of x, which no
// all_to_all does.
//
// REQUIRES: mpi
// RUN: rm -rf %t && mkdir %t
// RUN: shoalc %s -o %t/f
// RUN: %mpirun -n 12 %t/f --random-inputs=1 --output-dir %t/actual
// RUN: shoal-run %s --random-inputs=1 --output-dir %t/expected
// RUN: diff -r %t/actual %t/expected

shoal.mesh @mesh = <["x" = 4, "y" = 3], device_ids = [0, 10, 6, 11, 8, 1, 5, 4, 7, 2, 9, 3]>
func.func @main(%arg3: tensor<10x10x10xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}, {}]>}) -> (tensor<10x10x10xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y"}, {"x":(2)2}]>}) {
  %6 = shoal.manual_computation @mesh {"x":(2)2, "x":(1)2}(%arg3) in [#shoal.sharding<@mesh, [{"x":(2)2}, {}, {"y"}]>] out [#shoal.sharding<@mesh, [{"x":(2)2}, {}, {"y"}]>] {
  ^bb0(%arg6: tensor<5x10x10xf32>):
    %13 = spmd.all_reduce max @mesh {"x":(1)2} %arg6 : tensor<5x10x10xf32>
    shoal.yield %13 : tensor<5x10x10xf32>
  } : (tensor<10x10x10xf32>) -> tensor<10x10x10xf32>
  %7 = shoal.shard %6 {device_assignment = dense<[[[[2, 5, 1, 10, 8, 4, 9, 3, 6, 0, 7, 11]]]]> : tensor<1x1x1x12xi64>} : tensor<10x10x10xf32>
  return %7 : tensor<10x10x10xf32>
}
