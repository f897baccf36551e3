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
