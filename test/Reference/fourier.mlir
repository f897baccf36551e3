// RUN: shoal-run %s --print | FileCheck %s

// The definition, on lines whose transforms are whole numbers.

func.func @main() -> (tensor<4xf32> {shoal.name = "real"}, tensor<4xf32> {shoal.name = "imag"},
    tensor<4xf64> {shoal.name = "back"}, tensor<4xf64> {shoal.name = "back_imag"},
    tensor<2x3xf32> {shoal.name = "half"}, tensor<2x3xf32> {shoal.name = "half_imag"},
    tensor<2x4xf32> {shoal.name = "whole"}, tensor<3x1xf32> {shoal.name = "odd"},
    tensor<1xf32> {shoal.name = "one"}) {
  %x = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %y = arith.constant dense<[0.0, 1.0, 0.0, -1.0]> : tensor<4xf32>
  // CHECK: real: tensor<4xf32> = [10, 0, -2, -4]
  // CHECK: imag: tensor<4xf32> = [0, 2, 0, -2]
  %0:2 = shoal.fft %x, %y dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %a = arith.extf %0#0 : tensor<4xf32> to tensor<4xf64>
  %b = arith.extf %0#1 : tensor<4xf32> to tensor<4xf64>
  // CHECK: back: tensor<4xf64> = [1, 2, 3, 4]
  // CHECK: back_imag: tensor<4xf64> = [0, 1, 0, -1]
  %1:2 = shoal.fft %a, %b dim = 0 {inverse} : (tensor<4xf64>, tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>)
  %m = arith.constant dense<[[1.0, 2.0, 3.0, 4.0], [1.0, 0.0, 0.0, 0.0]]> : tensor<2x4xf32>
  // CHECK{LITERAL}: half: tensor<2x3xf32> = [[10, -2, -2], [1, 1, 1]]
  // CHECK{LITERAL}: half_imag: tensor<2x3xf32> = [[0, 2, 0], [0, 0, 0]]
  %2:2 = shoal.fft %m dim = 1 : (tensor<2x4xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  // The imaginary parts of the first element and of the last one do not count.
  %nine = arith.constant dense<[[9.0, 0.0, 9.0], [9.0, 0.0, 9.0]]> : tensor<2x3xf32>
  %i = arith.addf %2#1, %nine : tensor<2x3xf32>
  // CHECK{LITERAL}: whole: tensor<2x4xf32> = [[1, 2, 3, 4], [1, 0, 0, 0]]
  %3 = shoal.fft %2#0, %i dim = 1 {inverse} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x4xf32>
  // Of an odd number of elements the last imaginary part counts: 9 cos(2 pi n / 3) / 3.
  %c = arith.constant dense<[[0.0], [4.5]]> : tensor<2x1xf32>
  %z = arith.constant dense<0.0> : tensor<2x1xf32>
  // CHECK{LITERAL}: odd: tensor<3x1xf32> = [[3], [-1.5], [-1.5]]
  %4 = shoal.fft %c, %z dim = 0 {inverse} : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<3x1xf32>
  %n = arith.constant dense<7.0> : tensor<1xf32>
  // CHECK: one: tensor<1xf32> = [7]
  %5 = shoal.fft %n, %n dim = 0 {inverse} : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  return %0#0, %0#1, %1#0, %1#1, %2#0, %2#1, %3, %4, %5 : tensor<4xf32>, tensor<4xf32>, tensor<4xf64>, tensor<4xf64>,
    tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x4xf32>, tensor<3x1xf32>, tensor<1xf32>
}
