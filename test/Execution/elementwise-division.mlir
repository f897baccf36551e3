// Rows of padding divide by zero: 5 rows over 4 devices leave three of them.
// They must not trap.
//
// REQUIRES: mpi
// RUN: shoalc %s -o %t
// RUN: %mpirun -n 4 %t --random-inputs=1 --output-dir %t.out
// RUN: shoal-run %s --random-inputs=1 --output-dir %t.ref
// RUN: cmp %t.out/result0.npy %t.ref/result0.npy

shoal.mesh @mesh = <["x" = 4]>

func.func @f(%a: tensor<5x3xi32>, %b: tensor<5x3xi32>) -> tensor<5x3xi32> {
  %0 = shoal.split %a {dim = 0, num_partitions = 4} : tensor<5x3xi32>
  %eight = arith.constant dense<8> : tensor<5x3xi32>
  %odd = arith.constant dense<1> : tensor<5x3xi32>
  // No row of the program is zero: 1 + 8 b.
  %1 = arith.muli %b, %eight : tensor<5x3xi32>
  %2 = arith.addi %1, %odd : tensor<5x3xi32>
  %3 = arith.divsi %0, %2 : tensor<5x3xi32>
  // In padding, where b is unspecified, b itself may be zero.
  %4 = arith.maxsi %b, %odd : tensor<5x3xi32>
  %5 = arith.remsi %3, %4 : tensor<5x3xi32>
  return %5 : tensor<5x3xi32>
}
