// Windows over rows with places between them fetch the rows at or behind their
// first place, not the one before it: of 8 rows on 4 devices, dilated by 2, a
// device lacks the first row of the next one, 256 bytes.
//
// RUN: shoal-opt %s --shoal-partition --shoal-print-collectives -o /dev/null 2>&1 | FileCheck %s
// RUN: shoal-run %s --entry=two_apart --random-inputs=1 --compare
// RUN: shoal-run %s --entry=four_apart --random-inputs=1 --compare
// RUN: shoal-run %s --entry=shorter_than_the_distance --random-inputs=1 --compare
// RUN: shoal-run %s --entry=maxima --random-inputs=1 --compare

shoal.mesh @mesh = <["x" = 4]>

// CHECK-LABEL: @two_apart
// CHECK-NEXT: halo_exchange {{.*}} : tensor<1x2x8x8xf32> -> tensor<1x3x8x8xf32> 256 bytes
// CHECK-NEXT: in all 256 bytes
func.func @two_apart(%x: tensor<1x8x8x8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}, {}, {}]>},
    %k: tensor<3x3x8x8xf32>)
    -> (tensor<1x16x16x8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}, {}, {}]>}) {
  %0 = shoal.convolution "b01f,01io->b01f" %x, %k low = [1, 1] high = [2, 2] base_dilation = [2, 2]
    : tensor<1x8x8x8xf32>, tensor<3x3x8x8xf32> -> tensor<1x16x16x8xf32>
  return %0 : tensor<1x16x16x8xf32>
}

// Blocks of 8 places, windows of 9: the row before, the row behind.
// CHECK-LABEL: @four_apart
// CHECK: in all 512 bytes
func.func @four_apart(%x: tensor<1x8x8x8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}, {}, {}]>},
    %k: tensor<9x1x8x8xf32>)
    -> (tensor<1x32x8x8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}, {}, {}]>}) {
  %0 = shoal.convolution "b01f,01io->b01f" %x, %k low = [4, 0] high = [7, 0] base_dilation = [4, 1]
    : tensor<1x8x8x8xf32>, tensor<9x1x8x8xf32> -> tensor<1x32x8x8xf32>
  return %0 : tensor<1x32x8x8xf32>
}

// CHECK-LABEL: @shorter_than_the_distance
func.func @shorter_than_the_distance(%x: tensor<1x7x2x8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}, {}, {}]>},
    %k: tensor<2x1x8x8xf32>)
    -> (tensor<1x30x2x8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}, {}, {}]>}) {
  %0 = shoal.convolution "b01f,01io->b01f" %x, %k low = [2, 0] high = [4, 0] base_dilation = [4, 1]
    : tensor<1x7x2x8xf32>, tensor<2x1x8x8xf32> -> tensor<1x30x2x8xf32>
  return %0 : tensor<1x30x2x8xf32>
}

// CHECK-LABEL: @maxima
// CHECK: in all 256 bytes
func.func @maxima(%x: tensor<8x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}, %init: tensor<f32>)
    -> (tensor<16x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = shoal.reduce_window max %x, %init window = [3, 1] low = [1, 0] high = [2, 0] base_dilation = [2, 1]
    : tensor<8x64xf32>, tensor<f32> -> tensor<16x64xf32>
  return %0 : tensor<16x64xf32>
}
