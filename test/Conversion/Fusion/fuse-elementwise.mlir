// RUN: shoal-opt %s --pass-pipeline='builtin.module(shoal-to-linalg,func.func(convert-elementwise-to-linalg,canonicalize,cse,shoal-fuse-elementwise,canonicalize,cse))' --split-input-file | FileCheck %s

// Three loops: the maximum; exponential and sum; the quotient. The exponential
// is computed once.
// CHECK-LABEL: @softmax_is_three_loops
// CHECK: linalg.generic
// CHECK: arith.maximumf
// CHECK: linalg.generic
// CHECK: arith.subf
// CHECK-NEXT: math.exp
// CHECK-NEXT: arith.addf
// CHECK: linalg.generic
// CHECK-NOT: math.exp
// CHECK: arith.divf
// CHECK-NOT: linalg.generic
func.func @softmax_is_three_loops(%x: tensor<7x5xf32>) -> tensor<7x5xf32> {
  %max = shoal.reduce max %x dims = [1] : tensor<7x5xf32> -> tensor<7xf32>
  %maxes = shoal.broadcast_in_dim %max dims = [0] : tensor<7xf32> -> tensor<7x5xf32>
  %less = arith.subf %x, %maxes : tensor<7x5xf32>
  %exp = math.exp %less : tensor<7x5xf32>
  %sum = shoal.reduce sum %exp dims = [1] : tensor<7x5xf32> -> tensor<7xf32>
  %sums = shoal.broadcast_in_dim %sum dims = [0] : tensor<7xf32> -> tensor<7x5xf32>
  %y = arith.divf %exp, %sums : tensor<7x5xf32>
  return %y : tensor<7x5xf32>
}

// -----

// Inside the larger loops it would run five times as often.
// CHECK-LABEL: @expensive_producer_stays_outside_a_broadcast
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel"]
// CHECK: math.exp
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "parallel"]
// CHECK-NOT: math.exp
// CHECK: arith.mulf
func.func @expensive_producer_stays_outside_a_broadcast(%x: tensor<7xf32>, %y: tensor<7x5xf32>) -> tensor<7x5xf32> {
  %exp = math.exp %x : tensor<7xf32>
  %wide = shoal.broadcast_in_dim %exp dims = [0] : tensor<7xf32> -> tensor<7x5xf32>
  %z = arith.mulf %wide, %y : tensor<7x5xf32>
  return %z : tensor<7x5xf32>
}

// -----

// CHECK-LABEL: @constants_become_scalars
// CHECK-NOT: dense
// CHECK: linalg.generic
// CHECK: arith.maximumf
// CHECK-NOT: linalg.generic
func.func @constants_become_scalars(%x: tensor<7x5xf32>) -> tensor<7x5xf32> {
  %zero = arith.constant dense<0.0> : tensor<7x5xf32>
  %y = arith.maximumf %x, %zero : tensor<7x5xf32>
  return %y : tensor<7x5xf32>
}

// -----

// CHECK-LABEL: @readers_of_one_value_share_a_loop
// CHECK: linalg.generic
// CHECK: arith.addf
// CHECK-NEXT: math.exp
// CHECK-NEXT: math.tanh
// CHECK-NEXT: linalg.yield
// CHECK-NOT: linalg.generic
func.func @readers_of_one_value_share_a_loop(%x: tensor<7xf32>, %y: tensor<7xf32>) -> (tensor<7xf32>, tensor<7xf32>) {
  %sum = arith.addf %x, %y : tensor<7xf32>
  %exp = math.exp %sum : tensor<7xf32>
  %tanh = math.tanh %sum : tensor<7xf32>
  return %exp, %tanh : tensor<7xf32>, tensor<7xf32>
}
