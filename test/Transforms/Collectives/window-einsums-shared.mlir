// Two einsums read one gather and need their results cut: both are finished
// before either goes.
//
// RUN: shoal-opt %s --shoal-window-einsums="bytes=1 overlap=true" | FileCheck %s

shoal.mesh @mesh = <["x" = 4]>

// CHECK-LABEL: func.func @shared
// CHECK: shoal.while
// CHECK: shoal.slice {{.*}} -> tensor<7x5xf32>
// CHECK: shoal.slice {{.*}} -> tensor<7x6xf32>
// CHECK-NOT: spmd.all_gather
// CHECK: return
func.func @shared(%x: tensor<2x3xf32>, %v: tensor<3x5xf32>, %w: tensor<3x6xf32>) -> (tensor<7x5xf32>, tensor<7x6xf32>) attributes {shoal.spmd} {
  %0 = spmd.all_gather @mesh [{"x"}, {}] %x : tensor<2x3xf32> -> tensor<7x3xf32>
  %1 = shoal.einsum "IK,KJ->IJ" %0, %v : (tensor<7x3xf32>, tensor<3x5xf32>) -> tensor<7x5xf32>
  %2 = shoal.einsum "IK,KJ->IJ" %0, %w : (tensor<7x3xf32>, tensor<3x6xf32>) -> tensor<7x6xf32>
  return %1, %2 : tensor<7x5xf32>, tensor<7x6xf32>
}

// What the second einsum waits for is moved before the first; more operations
// than a small vector holds in place.
// CHECK-LABEL: func.func @late
// CHECK-COUNT-8: math.absf
// CHECK: shoal.while
// CHECK-NOT: spmd.all_gather
// CHECK: return
func.func @late(%x: tensor<2x3xf32>, %v: tensor<3x5xf32>, %w: tensor<3x6xf32>) -> (tensor<8x5xf32>, tensor<8x6xf32>) attributes {shoal.spmd} {
  %0 = spmd.all_gather @mesh [{"x"}, {}] %x : tensor<2x3xf32> -> tensor<8x3xf32>
  %1 = shoal.einsum "IK,KJ->IJ" %0, %v : (tensor<8x3xf32>, tensor<3x5xf32>) -> tensor<8x5xf32>
  %w1 = math.absf %w : tensor<3x6xf32>
  %w2 = math.absf %w1 : tensor<3x6xf32>
  %w3 = math.absf %w2 : tensor<3x6xf32>
  %w4 = math.absf %w3 : tensor<3x6xf32>
  %w5 = math.absf %w4 : tensor<3x6xf32>
  %w6 = math.absf %w5 : tensor<3x6xf32>
  %w7 = math.absf %w6 : tensor<3x6xf32>
  %w8 = math.absf %w7 : tensor<3x6xf32>
  %2 = shoal.einsum "IK,KJ->IJ" %0, %w8 : (tensor<8x3xf32>, tensor<3x6xf32>) -> tensor<8x6xf32>
  return %1, %2 : tensor<8x5xf32>, tensor<8x6xf32>
}
