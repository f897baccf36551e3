// RUN: shoal-run %s --random-inputs=3 --compare --devices=2 | FileCheck %s

// Tensors without elements go through the assignment, split or not.
// CHECK: result0: {{.*}}: ok
// CHECK: result1: {{.*}}: ok

shoal.mesh @mesh = <["x" = 2]>

func.func @main(%z: tensor<0x5xf32>, %a: tensor<5x0xf32>) -> (tensor<0x5xf32>, tensor<5xf32>) {
  %0 = arith.addf %z, %z : tensor<0x5xf32>
  %1 = shoal.sort %0 dim = 1 : (tensor<0x5xf32>) -> tensor<0x5xf32>
  %2 = shoal.reduce sum %a dims = [1] : tensor<5x0xf32> -> tensor<5xf32>
  return %1, %2 : tensor<0x5xf32>, tensor<5xf32>
}
