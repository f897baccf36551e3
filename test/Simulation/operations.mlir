// Operations of what a kernel computes are counted by one rule, whatever it is
// made of: an exponential as 10, a sum once for each term, comparisons of a
// sort. A launch says those of its kernel.

// RUN: shoalc %s --simulate=%S/Inputs/scalar.toml | FileCheck %s
// RUN: shoalc %s --simulate=%S/Inputs/scalar.toml --target=cuda | FileCheck %s

// 1,024 x (10 + 10 + 1); 1,024 terms; 1,024 x log2(1,024).
// CHECK: scalar, 1 devices
// CHECK-LABEL: by kind
// CHECK-DAG: 22.53 us {{.*}} kernel
// CHECK-DAG: 10.24 us {{.*}} sort
// CHECK: operations

func.func @main(%x: tensor<1024xf32>) -> (tensor<1024xf32>, tensor<f32>, tensor<1024xf32>) {
  %a = math.exp %x : tensor<1024xf32>
  %b = math.exp %a : tensor<1024xf32>
  %y = arith.addf %b, %x : tensor<1024xf32>
  %sum = shoal.reduce sum %x dims = [0] : tensor<1024xf32> -> tensor<f32>
  %sorted = shoal.sort %x dim = 0 : (tensor<1024xf32>) -> tensor<1024xf32>
  return %y, %sum, %sorted : tensor<1024xf32>, tensor<f32>, tensor<1024xf32>
}
