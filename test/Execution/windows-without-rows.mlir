// Ops with windows where a tensor has no elements, or no window fits: the
// reductions over nothing are zero, the initial value or nothing.
//
// REQUIRES: mpi
// RUN: rm -rf %t && mkdir %t
// RUN: shoalc %s -o %t/f
// RUN: %mpirun -n 4 %t/f --random-inputs=1 --output-dir %t/actual
// RUN: shoal-run %s --devices=0 --random-inputs=1 --output-dir %t/expected
// RUN: diff -r %t/actual %t/expected
// RUN: shoal-run %s --random-inputs=1 --compare

shoal.mesh @mesh = <["x" = 4]>
func.func @main(%x: tensor<0x9x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}, {}]>}, %k: tensor<3x3x4xf32>,
   %y: tensor<2x9x0xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}, {}]>}, %k0: tensor<3x0x4xf32>,
   %z: tensor<2x0x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}, {}]>}, %i: tensor<f32>,
   %w: tensor<2x9x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}, {}]>}, %s: tensor<0x9xf32>,
   %e: tensor<4x7xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}, %es: tensor<0x7xf32>,
   %c0: tensor<0x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>})
  -> (tensor<0x7x4xf32>, tensor<2x7x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}, {}]>}, tensor<2x2x4xf32>, tensor<2x0x4xf32>, tensor<2x0x3xf32>, tensor<4x7xf32>, tensor<2x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = shoal.convolution "b0f,0io->b0f" %x, %k : tensor<0x9x3xf32>, tensor<3x3x4xf32> -> tensor<0x7x4xf32>
  %1 = shoal.convolution "b0f,0io->b0f" %y, %k0 : tensor<2x9x0xf32>, tensor<3x0x4xf32> -> tensor<2x7x4xf32>
  %2 = shoal.convolution "b0f,0io->b0f" %z, %k low = [2] high = [2] : tensor<2x0x3xf32>, tensor<3x3x4xf32> -> tensor<2x2x4xf32>
  %3 = shoal.convolution "b0f,0io->b0f" %w, %k window_dilation = [5] : tensor<2x9x3xf32>, tensor<3x3x4xf32> -> tensor<2x0x4xf32>
  %4 = shoal.reduce_window max %z, %i window = [1, 2, 1] : tensor<2x0x3xf32>, tensor<f32> -> tensor<2x0x3xf32>
  %5 = shoal.select_and_scatter max %e, %es, %i window = [5, 1] : tensor<4x7xf32>, tensor<0x7xf32>, tensor<f32> -> tensor<4x7xf32>
  %6 = shoal.reduce_window sum %c0, %i window = [1, 1] low = [1, 0] high = [1, 0] : tensor<0x6xf32>, tensor<f32> -> tensor<2x6xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<0x7x4xf32>, tensor<2x7x4xf32>, tensor<2x2x4xf32>, tensor<2x0x4xf32>, tensor<2x0x3xf32>, tensor<4x7xf32>, tensor<2x6xf32>
}
