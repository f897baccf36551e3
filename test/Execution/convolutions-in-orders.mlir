// Convolutions of all orders of patches compute what the interpreter does: rows,
// places, features and groups last; with holes, which phases leave out, and
// sizes of 1, odd ones, and such that fill a library's kernels.
//
// REQUIRES: mpi, shoalc
// RUN: rm -rf %t && mkdir %t
// RUN: shoalc %s -o %t/program
// RUN: %mpirun -n 1 %t/program --random-inputs=1 --output-dir %t/compiled --check-memory
// RUN: shoal-run %s --random-inputs=1 --output-dir %t/interpreted
// RUN: %python -c "import numpy as np; [np.testing.assert_allclose(np.load(f'%t/compiled/result{i}.npy'), np.load(f'%t/interpreted/result{i}.npy'), rtol=1e-5, atol=1e-4) for i in range(12)]"

func.func @main(%x: tensor<4x6x18x20xf32>, %k: tensor<8x6x3x3xf32>, %dy: tensor<4x8x9x10xf32>, %one: tensor<8x6x1x1xf32>,
                %grouped: tensor<8x3x3x3xf32>, %each: tensor<12x1x3x5xf32>, %last: tensor<3x19x17x6xf32>, %odd: tensor<3x5x6x7xf32>,
                %oddy: tensor<3x17x13x7xf32>, %along: tensor<3x3x1x6xf32>)
    -> (tensor<4x8x9x10xf32>, tensor<4x6x18x20xf32>, tensor<8x6x3x3xf32>, tensor<4x8x18x20xf32>, tensor<4x6x18x20xf32>,
        tensor<4x8x18x20xf32>, tensor<4x12x16x16xf32>, tensor<3x17x13x7xf32>, tensor<3x5x6x7xf32>, tensor<3x19x17x6xf32>,
        tensor<3x17x15x6xf32>, tensor<4x6x12x23xf32>) {
  // Rows last, two apart; its gradients, with holes in one operand.
  %0 = shoal.convolution "bf01,oi01->bf01" %x, %k strides = [2, 2] low = [1, 1] high = [1, 1]
     : tensor<4x6x18x20xf32>, tensor<8x6x3x3xf32> -> tensor<4x8x9x10xf32>
  %1 = shoal.convolution "bf01,io01->bf01" %dy, %k low = [1, 1] high = [2, 2] base_dilation = [2, 2] reversal = [true, true]
     : tensor<4x8x9x10xf32>, tensor<8x6x3x3xf32> -> tensor<4x6x18x20xf32>
  %2 = shoal.convolution "fb01,io01->fb01" %x, %dy low = [1, 1] window_dilation = [2, 2]
     : tensor<4x6x18x20xf32>, tensor<4x8x9x10xf32> -> tensor<8x6x3x3xf32>
  // No patches; holes that no place meets.
  %3 = shoal.convolution "bf01,oi01->bf01" %x, %one : tensor<4x6x18x20xf32>, tensor<8x6x1x1xf32> -> tensor<4x8x18x20xf32>
  %4 = shoal.convolution "bf01,io01->bf01" %dy, %one high = [1, 1] base_dilation = [2, 2]
     : tensor<4x8x9x10xf32>, tensor<8x6x1x1xf32> -> tensor<4x6x18x20xf32>
  // Groups, and one feature in each.
  %5 = shoal.convolution "bf01,oi01->bf01" %x, %grouped low = [1, 1] high = [1, 1] {feature_group_count = 2}
     : tensor<4x6x18x20xf32>, tensor<8x3x3x3xf32> -> tensor<4x8x18x20xf32>
  %6 = shoal.convolution "bf01,oi01->bf01" %x, %each {feature_group_count = 6}
     : tensor<4x6x18x20xf32>, tensor<12x1x3x5xf32> -> tensor<4x12x16x16xf32>
  // Features last, and the gradients.
  %7 = shoal.convolution "b01f,01io->b01f" %last, %odd : tensor<3x19x17x6xf32>, tensor<3x5x6x7xf32> -> tensor<3x17x13x7xf32>
  %8 = shoal.convolution "f01b,i01o->01bf" %last, %oddy : tensor<3x19x17x6xf32>, tensor<3x17x13x7xf32> -> tensor<3x5x6x7xf32>
  %9 = shoal.convolution "b01f,01oi->b01f" %oddy, %odd low = [2, 4] high = [2, 4] reversal = [true, true]
     : tensor<3x17x13x7xf32>, tensor<3x5x6x7xf32> -> tensor<3x19x17x6xf32>
  %10 = shoal.convolution "b01f,01io->b01f" %last, %along {feature_group_count = 6}
     : tensor<3x19x17x6xf32>, tensor<3x3x1x6xf32> -> tensor<3x17x15x6xf32>
  // Holes that windows and places are apart as well.
  %11 = shoal.convolution "bf01,io01->bf01" %dy, %k strides = [2, 1] low = [5, 3] high = [-3, 9] base_dilation = [3, 2] window_dilation = [2, 4] reversal = [false, true]
     : tensor<4x8x9x10xf32>, tensor<8x6x3x3xf32> -> tensor<4x6x12x23xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 : tensor<4x8x9x10xf32>, tensor<4x6x18x20xf32>, tensor<8x6x3x3xf32>,
      tensor<4x8x18x20xf32>, tensor<4x6x18x20xf32>, tensor<4x8x18x20xf32>, tensor<4x12x16x16xf32>, tensor<3x17x13x7xf32>,
      tensor<3x5x6x7xf32>, tensor<3x19x17x6xf32>, tensor<3x17x15x6xf32>, tensor<4x6x12x23xf32>
}
