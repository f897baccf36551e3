// RUN: rm -rf %t && mkdir -p %t && shoalc %s --save-temps=%t -o %t/program
// RUN: grep -c store %t/kernels.ll | FileCheck %s

// Masks of 16 rows of 256 columns: the rows stay a loop around the comparisons of
// one row. Unrolled they were hundreds of stores.
// CHECK: {{^[1-9][0-9]?$}}
func.func @main(%x: tensor<64x16xi32>) -> tensor<64x16x256xf32> {
  %places = shoal.iota dim = 2 : tensor<64x16x256xi32>
  %wide = shoal.broadcast_in_dim %x dims = [0, 1] : tensor<64x16xi32> -> tensor<64x16x256xi32>
  %is = arith.cmpi eq, %wide, %places : tensor<64x16x256xi32>
  %y = arith.uitofp %is : tensor<64x16x256xi1> to tensor<64x16x256xf32>
  return %y : tensor<64x16x256xf32>
}
