// Ops on the same rows in one kernel, on the emulated device against the
// interpreter: rows of a part of a warp, a warp, a block; rows and columns that
// leave threads over; results that other ops read, too; numbers of a row alone.
//
// REQUIRES: mpi, cuda-emulation
// RUN: rm -rf %t && mkdir %t
// RUN: shoalc %s -o %t/f --target=cuda --cuda-arch=emulated
// RUN: %mpirun -n 1 %t/f --random-inputs=1 --output-dir %t/actual
// RUN: env SHOAL_EMULATION_ISOLATE=1 SHOAL_EMULATION_ORDER=backward %mpirun -n 1 %t/f --random-inputs=1 --output-dir %t/backward
// RUN: shoal-run %s --random-inputs=1 --output-dir %t/expected
// RUN: diff -r %t/actual %t/expected
// RUN: diff -r %t/backward %t/expected
// RUN: shoal-opt %s --shoal-lower-to-cuda | FileCheck %s

// A kernel for the largest, the smallest and what uses them; another for all of
// the rows of eight. The third's rows are too long.
// CHECK-COUNT-4: rt.launch
// CHECK-NOT: rt.launch
// CHECK: gpu.module
// CHECK: "fused_rows lanes=32
// CHECK: "fused_rows vector=
func.func @f(%x: tensor<130x77xi32>, %y: tensor<3x67x8xi64>, %z: tensor<256x65536xi16>)
    -> (tensor<130x77xi32>, tensor<130xi32>, tensor<3x67x8xi64>, tensor<256x65536xi16>) {
  %most = shoal.reduce max %x dims = [1] : tensor<130x77xi32> -> tensor<130xi32>
  %most_of_row = shoal.broadcast_in_dim %most dims = [0] : tensor<130xi32> -> tensor<130x77xi32>
  %below = arith.subi %most_of_row, %x : tensor<130x77xi32>
  %least = shoal.reduce min %below dims = [1] : tensor<130x77xi32> -> tensor<130xi32>
  %both = arith.addi %least, %most : tensor<130xi32>
  %both_of_row = shoal.broadcast_in_dim %both dims = [0] : tensor<130xi32> -> tensor<130x77xi32>
  %mixed = arith.xori %both_of_row, %below : tensor<130x77xi32>
  %sum = shoal.reduce sum %y dims = [2] : tensor<3x67x8xi64> -> tensor<3x67xi64>
  %sum_of_row = shoal.broadcast_in_dim %sum dims = [0, 1] : tensor<3x67xi64> -> tensor<3x67x8xi64>
  %apart = arith.subi %y, %sum_of_row : tensor<3x67x8xi64>
  %long = shoal.reduce max %z dims = [1] : tensor<256x65536xi16> -> tensor<256xi16>
  %long_of_row = shoal.broadcast_in_dim %long dims = [0] : tensor<256xi16> -> tensor<256x65536xi16>
  %rest = arith.subi %long_of_row, %z : tensor<256x65536xi16>
  return %mixed, %both, %apart, %rest : tensor<130x77xi32>, tensor<130xi32>, tensor<3x67x8xi64>, tensor<256x65536xi16>
}
