// A convolution whose operand has no features is zero, with holes, too.
//
// REQUIRES: mpi, shoalc
// RUN: rm -rf %t && mkdir %t
// RUN: shoalc %s -o %t/program
// RUN: %mpirun -n 2 %t/program --random-inputs=1 --output-dir %t
// RUN: %python -c "import numpy as np; [np.testing.assert_array_equal(np.load(f'%t/result{i}.npy'), 0) for i in range(2)]"

shoal.mesh @mesh = <["d" = 2]>

func.func @main(%x: tensor<2x64x0xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"d"}, {}, {}]>},
                %k: tensor<3x0x4xf32>) -> (tensor<2x125x4xf32>, tensor<2x62x4xf32>) {
  %0 = shoal.convolution "b0f,0io->b0f" %x, %k base_dilation = [2]
     : tensor<2x64x0xf32>, tensor<3x0x4xf32> -> tensor<2x125x4xf32>
  %1 = shoal.convolution "b0f,0io->b0f" %x, %k
     : tensor<2x64x0xf32>, tensor<3x0x4xf32> -> tensor<2x62x4xf32>
  return %0, %1 : tensor<2x125x4xf32>, tensor<2x62x4xf32>
}
