// Convolutions whose patches are made in parts compute what the interpreter
// does, and stay in their memory.
//
// REQUIRES: mpi, shoalc
// RUN: rm -rf %t && mkdir %t
// RUN: shoalc %s --entry=convolutions -o %t/program
// RUN: %mpirun -n 2 %t/program --random-inputs=1 --output-dir %t/compiled --check-memory
// RUN: shoal-run %s --entry=convolutions --devices=2 --random-inputs=1 --output-dir %t/interpreted
// RUN: %python -c "import numpy as np; [np.testing.assert_allclose(np.load(f'%t/compiled/result{i}.npy'), np.load(f'%t/interpreted/result{i}.npy'), rtol=1e-5, atol=1e-5) for i in range(5)]"
// RUN: shoalc %s --entry=one --emit=summary | FileCheck %s

shoal.mesh @mesh = <["d" = 2]>

func.func @convolutions(%x: tensor<8x9x8x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"d"}, {}, {}, {}]>},
                        %k: tensor<3x3x4x6xf32>, %dy: tensor<8x9x8x6xf32>, %g: tensor<3x3x1x8xf32>)
    -> (tensor<8x9x8x6xf32>, tensor<8x4x8x6xf32>, tensor<3x3x4x6xf32>, tensor<8x9x8x8xf32>, tensor<8x17x8x6xf32>) {
  %0 = shoal.convolution "b01f,01io->b01f" %x, %k low = [1, 1] high = [1, 1]
     : tensor<8x9x8x4xf32>, tensor<3x3x4x6xf32> -> tensor<8x9x8x6xf32>
  %1 = shoal.convolution "b01f,01io->b01f" %x, %k strides = [2, 1] low = [0, 1] high = [0, 1] reversal = [true, false]
     : tensor<8x9x8x4xf32>, tensor<3x3x4x6xf32> -> tensor<8x4x8x6xf32>
  // The gradient of a kernel: images are features, features are images.
  %2 = shoal.convolution "f01b,i01o->01bf" %x, %dy low = [1, 1] high = [1, 1]
     : tensor<8x9x8x4xf32>, tensor<8x9x8x6xf32> -> tensor<3x3x4x6xf32>
  %3 = shoal.convolution "b01f,01io->b01f" %x, %g low = [1, 1] high = [1, 1] {feature_group_count = 4}
     : tensor<8x9x8x4xf32>, tensor<3x3x1x8xf32> -> tensor<8x9x8x8xf32>
  %4 = shoal.convolution "b01f,01io->b01f" %x, %k low = [1, 1] high = [1, 1] base_dilation = [2, 1] window_dilation = [1, 1]
     : tensor<8x9x8x4xf32>, tensor<3x3x4x6xf32> -> tensor<8x17x8x6xf32>
  return %0, %1, %2, %3, %4 : tensor<8x9x8x6xf32>, tensor<8x4x8x6xf32>, tensor<3x3x4x6xf32>, tensor<8x9x8x8xf32>, tensor<8x17x8x6xf32>
}

// A padded image and the patches of two rows, 1600 + 2304 bytes, are the arena.
// All patches would take 73,728.
// CHECK: arena 3,904;
func.func @one(%x: tensor<16x8x8x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"d"}, {}, {}, {}]>}, %k: tensor<3x3x4x8xf32>)
    -> tensor<16x8x8x8xf32> {
  %0 = shoal.convolution "b01f,01io->b01f" %x, %k low = [1, 1] high = [1, 1]
     : tensor<16x8x8x4xf32>, tensor<3x3x4x8xf32> -> tensor<16x8x8x8xf32>
  return %0 : tensor<16x8x8x8xf32>
}
