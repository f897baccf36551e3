// From one random sharding to the next, 15 x 14 elements on a 2 x 2 mesh: what four ranks
// write and what the partitioned program computes in the interpreter is x.
//
// REQUIRES: mpi
// RUN: rm -rf %t && mkdir %t
// RUN: shoalc %s -o %t/f
// RUN: %mpirun -n 4 %t/f --random-inputs=1 --output-dir %t/actual
// RUN: shoal-run %s --random-inputs=1 --output-dir %t/expected
// RUN: diff -r %t/actual %t/expected
// RUN: shoal-run %s --devices=4 --compare --random-inputs=1
// RUN: shoal-opt %s --shoal-import --shoal-propagate --shoal-assign --shoal-plan-reshards | FileCheck %s

// CHECK: by exchange

shoal.mesh @mesh = <["x" = 2, "y" = 2]>

func.func @f(%x: tensor<15x14xi32> {shoal.name = "x"})
    -> (tensor<15x14xi32> {shoal.name = "y0"},
        tensor<15x14xi32> {shoal.name = "y1"},
        tensor<15x14xi32> {shoal.name = "y2"},
        tensor<15x14xi32> {shoal.name = "y3"},
        tensor<15x14xi32> {shoal.name = "y4"},
        tensor<15x14xi32> {shoal.name = "y5"},
        tensor<15x14xi32> {shoal.name = "y6"},
        tensor<15x14xi32> {shoal.name = "y7"},
        tensor<15x14xi32> {shoal.name = "y8"},
        tensor<15x14xi32> {shoal.name = "y9"},
        tensor<15x14xi32> {shoal.name = "y10"},
        tensor<15x14xi32> {shoal.name = "y11"},
        tensor<15x14xi32> {shoal.name = "y12"},
        tensor<15x14xi32> {shoal.name = "y13"}) {
  %y0 = shoal.sharding_constraint %x <@mesh, [{}, {"y"}]> : tensor<15x14xi32>
  %y1 = shoal.sharding_constraint %y0 <@mesh, [{"x"}, {}]> : tensor<15x14xi32>
  %y2 = shoal.sharding_constraint %y1 <@mesh, [{"y"}, {}]> : tensor<15x14xi32>
  %y3 = shoal.sharding_constraint %y2 <@mesh, [{}, {}]> : tensor<15x14xi32>
  %y4 = shoal.sharding_constraint %y3 <@mesh, [{"y"}, {}]> : tensor<15x14xi32>
  %y5 = shoal.sharding_constraint %y4 <@mesh, [{}, {"x"}]> : tensor<15x14xi32>
  %y6 = shoal.sharding_constraint %y5 <@mesh, [{"y"}, {}]> : tensor<15x14xi32>
  %y7 = shoal.sharding_constraint %y6 <@mesh, [{"x"}, {"y"}]> : tensor<15x14xi32>
  %y8 = shoal.sharding_constraint %y7 <@mesh, [{}, {"y"}]> : tensor<15x14xi32>
  %y9 = shoal.sharding_constraint %y8 <@mesh, [{"x"}, {"y"}]> : tensor<15x14xi32>
  %y10 = shoal.sharding_constraint %y9 <@mesh, [{"y"}, {"x"}]> : tensor<15x14xi32>
  %y11 = shoal.sharding_constraint %y10 <@mesh, [{}, {"y"}]> : tensor<15x14xi32>
  %y12 = shoal.sharding_constraint %y11 <@mesh, [{"y"}, {}]> : tensor<15x14xi32>
  %y13 = shoal.sharding_constraint %y12 <@mesh, [{}, {"y"}]> : tensor<15x14xi32>
  return %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7, %y8, %y9, %y10, %y11, %y12, %y13
      : tensor<15x14xi32>, tensor<15x14xi32>, tensor<15x14xi32>, tensor<15x14xi32>, tensor<15x14xi32>, tensor<15x14xi32>, tensor<15x14xi32>, tensor<15x14xi32>, tensor<15x14xi32>, tensor<15x14xi32>, tensor<15x14xi32>, tensor<15x14xi32>, tensor<15x14xi32>, tensor<15x14xi32>
}
