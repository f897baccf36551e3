// What is multiplied in convolutions and ragged products counts as in einsums; a sum
// over one operand does not.
//
// RUN: shoalc %s --emit=summary -o - | FileCheck %s
// RUN: shoalc %s --emit=spmd -o /dev/null --stats %t.json && FileCheck %s --check-prefix=STATS --input-file=%t.json

shoal.mesh @mesh = <["data" = 2]>

// Rows are split, features are not: each device does half of the 2 x 4 x 6 x 6 x 3 x 3 x 3.
// CHECK: arithmetic: {{[0-9,]+}} operations on a device, 3,888 of them in products (1.00 times the global program's
// STATS: "einsum_flops_ratio": 1,
func.func @f(%x: tensor<2x6x6x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"data"}, {}, {}, {}]>},
             %k: tensor<3x3x3x2xf32>) -> (tensor<2x6x6x2xf32>, tensor<2xf32>) {
  %y = shoal.convolution "b01f,01io->b01f" %x, %k low = [1, 1] high = [1, 1]
      : tensor<2x6x6x3xf32>, tensor<3x3x3x2xf32> -> tensor<2x6x6x2xf32>
  %s = shoal.einsum "BHWF->B" %y : (tensor<2x6x6x2xf32>) -> tensor<2xf32>
  return %y, %s : tensor<2x6x6x2xf32>, tensor<2xf32>
}
