// Sums whose axes end in front of others, through strided blocks: what four
// ranks write and what the partitioned program computes in the interpreter is
// the product of a and b.
//
// REQUIRES: mpi
// RUN: rm -rf %t && mkdir %t
// RUN: shoalc %s -o %t/f
// RUN: %mpirun -n 4 %t/f --random-inputs=1 --output-dir %t/actual
// RUN: shoal-run %s --random-inputs=1 --output-dir %t/expected
// RUN: diff -r %t/actual %t/expected
// RUN: shoal-run %s --devices=4 --compare --random-inputs=1
// RUN: shoal-opt %s --shoal-import --shoal-propagate --shoal-assign --shoal-plan-reshards --shoal-localize | FileCheck %s

shoal.mesh @mesh = <["x" = 2, "y" = 2]>

// CHECK-LABEL: @f
func.func @f(
    %a: tensor<8x4xi32> {shoal.name = "a", shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
    %b: tensor<4x12xi32> {shoal.name = "b", shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %c: tensor<4x12xi32> {shoal.name = "c", shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<8x12xi32> {shoal.name = "rows", shoal.sharding = #shoal.sharding<@mesh, [{"x", "y"}, {}]>},
        tensor<8x12xi32> {shoal.name = "turned", shoal.sharding = #shoal.sharding<@mesh, [{"y", "x"}, {}]>}) {
  // Of each half of the rows device y keeps the half y; half x is then summed.
  // CHECK: shoal.reshape {{.*}} tensor<8x12xi32> -> tensor<2x4x12xi32>
  // CHECK: spmd.all_slice @mesh [{}, {"y"}, {}] {{.*}} tensor<2x4x12xi32> -> tensor<2x2x12xi32>
  // CHECK: spmd.reduce_scatter sum @mesh [{"x"}, {}, {}] {{.*}} tensor<2x2x12xi32> -> tensor<1x2x12xi32>
  // CHECK: shoal.reshape {{.*}} tensor<1x2x12xi32> -> tensor<2x12xi32>
  %0 = shoal.einsum "IK,KJ->IJ" %a, %b : (tensor<8x4xi32>, tensor<4x12xi32>) -> tensor<8x12xi32>
  // The columns over y become the outer half of the rows.
  // CHECK: spmd.reduce_scatter sum @mesh [{}, {"x"}, {}] {{.*}} tensor<2x4x6xi32> -> tensor<2x2x6xi32>
  // CHECK: spmd.all_to_all @mesh [{"y"} : 2 -> 0] {{.*}} tensor<2x2x6xi32> -> tensor<1x2x12xi32>
  %1 = shoal.einsum "IK,KJ->IJ" %a, %c : (tensor<8x4xi32>, tensor<4x12xi32>) -> tensor<8x12xi32>
  return %0, %1 : tensor<8x12xi32>, tensor<8x12xi32>
}
