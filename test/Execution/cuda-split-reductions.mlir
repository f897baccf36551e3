// Reductions in parts on the emulated device against the interpreter: to one
// element, with a rest, over an index of the body; to few columns.
//
// REQUIRES: mpi, cuda-emulation
// RUN: rm -rf %t && mkdir %t
// RUN: shoalc %s -o %t/f --target=cuda --cuda-arch=emulated
// RUN: %mpirun -n 1 %t/f --random-inputs=1 --output-dir %t/actual
// RUN: shoal-run %s --random-inputs=1 --output-dir %t/expected
// RUN: diff -r %t/actual %t/expected
// RUN: shoal-opt %s --shoal-lower-to-cuda | FileCheck %s

// Of each reduction the parts, then what combines them; rests on top.
// CHECK-COUNT-11: rt.launch
// CHECK-NOT: rt.launch
func.func @f(%x: tensor<1001x300xi32>, %line: tensor<200000xi32>)
    -> (tensor<i32>, tensor<f64>, tensor<300xi32>, tensor<i32>) {
  %seven = arith.constant dense<7> : tensor<1001x300xi32>
  %small = arith.remsi %x, %seven : tensor<1001x300xi32>
  %all = shoal.reduce sum %x dims = [0, 1] : tensor<1001x300xi32> -> tensor<i32>
  %row = shoal.iota dim = 0 : tensor<1001x300xi32>
  %times = arith.muli %small, %row : tensor<1001x300xi32>
  %wide = arith.sitofp %times : tensor<1001x300xi32> to tensor<1001x300xf64>
  %weighted = shoal.reduce sum %wide dims = [0, 1] : tensor<1001x300xf64> -> tensor<f64>
  %columns = shoal.reduce max %x dims = [0] : tensor<1001x300xi32> -> tensor<300xi32>
  %least = shoal.reduce min %line dims = [0] : tensor<200000xi32> -> tensor<i32>
  return %all, %weighted, %columns, %least : tensor<i32>, tensor<f64>, tensor<300xi32>, tensor<i32>
}
