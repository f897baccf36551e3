// RUN: shoal-opt %s | shoal-opt | FileCheck %s
// RUN: shoal-opt %s --mlir-print-op-generic | shoal-opt | FileCheck %s

// Every op in each of its forms survives a round trip, also by its generic form.

// CHECK-LABEL: func @sort(
func.func @sort(%x: tensor<8x16xf32>, %i: tensor<8x16xi32>) {
  // CHECK: shoal.sort %{{.*}} dim = 1 : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %0 = shoal.sort %x dim = 1 : (tensor<8x16xf32>) -> tensor<8x16xf32>
  // CHECK: shoal.sort %{{.*}}, %{{.*}} dim = 0 {descending, num_keys = 2 : i64} : (tensor<8x16xf32>, tensor<8x16xi32>) -> (tensor<8x16xf32>, tensor<8x16xi32>)
  %1:2 = shoal.sort %x, %i dim = 0 {descending, num_keys = 2}
    : (tensor<8x16xf32>, tensor<8x16xi32>) -> (tensor<8x16xf32>, tensor<8x16xi32>)
  return
}

// CHECK-LABEL: func @top_k(
func.func @top_k(%x: tensor<8x16xf32>) -> tensor<8x2xi32> {
  // CHECK: shoal.top_k %{{.*}} {k = 2 : i64} : tensor<8x16xf32> -> tensor<8x2xf32>, tensor<8x2xi32>
  %v, %i = shoal.top_k %x {k = 2} : tensor<8x16xf32> -> tensor<8x2xf32>, tensor<8x2xi32>
  return %i : tensor<8x2xi32>
}

// CHECK-LABEL: func @places(
func.func @places(%x: tensor<8x16xf32>, %b: tensor<3xi1>) {
  // CHECK: shoal.argmax %{{.*}} dim = 1 : tensor<8x16xf32> -> tensor<8xi32>
  %0 = shoal.argmax %x dim = 1 : tensor<8x16xf32> -> tensor<8xi32>
  // CHECK: shoal.argmin %{{.*}} dim = 0 : tensor<3xi1> -> tensor<i64>
  %1 = shoal.argmin %b dim = 0 : tensor<3xi1> -> tensor<i64>
  return
}
