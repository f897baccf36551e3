// RUN: shoal-run %s --random-inputs=3 --compare | FileCheck %s

// A dimension of no rows, on several devices and without an annotation.
// CHECK: result0: tensor<0x4xf32> {{.*}}: ok
// CHECK: result1: tensor<4xf32> {{.*}}: ok
// CHECK: result2: tensor<3x4xf32> {{.*}}: ok

shoal.mesh @mesh = <["x" = 2, "y" = 2]>

func.func @main(%x: tensor<0x4xf32>, %y: tensor<3x4xf32>)
    -> (tensor<0x4xf32>, tensor<4xf32>, tensor<3x4xf32>) {
  %double = arith.addf %x, %x : tensor<0x4xf32>
  %sum = shoal.reduce sum %x dims = [0] : tensor<0x4xf32> -> tensor<4xf32>
  %both = shoal.concatenate %x, %y dim = 0 : (tensor<0x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %double, %sum, %both : tensor<0x4xf32>, tensor<4xf32>, tensor<3x4xf32>
}
