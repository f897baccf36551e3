// RUN: shoal-opt %s | shoal-opt | FileCheck %s
// RUN: shoal-opt %s --mlir-print-op-generic | shoal-opt | FileCheck %s

// Complex and real lines, of even, odd and single length.

// CHECK-LABEL: func @transforms(
func.func @transforms(%x: tensor<8x16xf32>, %y: tensor<8x16xf32>, %d: tensor<7xf64>, %one: tensor<1xf64>) {
  // CHECK: shoal.fft %{{.*}}, %{{.*}} dim = 1 : (tensor<8x16xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
  %0:2 = shoal.fft %x, %y dim = 1 : (tensor<8x16xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
  // CHECK: shoal.fft %{{.*}}, %{{.*}} dim = 0 {inverse} : (tensor<8x16xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
  %1:2 = shoal.fft %x, %y dim = 0 {inverse} : (tensor<8x16xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
  // CHECK: shoal.fft %{{.*}} dim = 0 : (tensor<7xf64>) -> (tensor<4xf64>, tensor<4xf64>)
  %2:2 = shoal.fft %d dim = 0 : (tensor<7xf64>) -> (tensor<4xf64>, tensor<4xf64>)
  // CHECK: shoal.fft %{{.*}}, %{{.*}} dim = 0 {inverse} : (tensor<4xf64>, tensor<4xf64>) -> tensor<6xf64>
  %3 = shoal.fft %2#0, %2#1 dim = 0 {inverse} : (tensor<4xf64>, tensor<4xf64>) -> tensor<6xf64>
  // CHECK: shoal.fft %{{.*}}, %{{.*}} dim = 0 {inverse} : (tensor<1xf64>, tensor<1xf64>) -> tensor<1xf64>
  %4 = shoal.fft %one, %one dim = 0 {inverse} : (tensor<1xf64>, tensor<1xf64>) -> tensor<1xf64>
  return
}
