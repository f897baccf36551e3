// RUN: shoal-opt %s | shoal-opt | FileCheck %s
// RUN: shoal-opt %s --mlir-print-op-generic | shoal-opt | FileCheck %s

// Each attribute of the ops with windows, given and left out.

// CHECK-LABEL: @convolutions
func.func @convolutions(%x: tensor<2x9x9x4xf32>, %k: tensor<3x3x4x8xf32>,
                        %grouped: tensor<8x2x3x3xf32>, %line: tensor<4x9x2xbf16>,
                        %taps: tensor<3x2x6xbf16>) {
  // CHECK: shoal.convolution "b01f,01io->b01f" %{{.*}}, %{{.*}} : tensor<2x9x9x4xf32>, tensor<3x3x4x8xf32> -> tensor<2x7x7x8xf32>
  %0 = shoal.convolution "b01f,01io->b01f" %x, %k : tensor<2x9x9x4xf32>, tensor<3x3x4x8xf32> -> tensor<2x7x7x8xf32>
  // CHECK: shoal.convolution "b01f,01io->f01b" %{{.*}}, %{{.*}} strides = [1, 2] low = [2, -1] high = [2, 0] base_dilation = [2, 1] window_dilation = [1, 3] reversal = [true, false] : tensor<2x9x9x4xf32>, tensor<3x3x4x8xf32> -> tensor<8x19x1x2xf32>
  %1 = shoal.convolution "b01f,01io->f01b" %x, %k strides = [1, 2] low = [2, -1] high = [2, 0] base_dilation = [2, 1] window_dilation = [1, 3] reversal = [true, false]
     : tensor<2x9x9x4xf32>, tensor<3x3x4x8xf32> -> tensor<8x19x1x2xf32>
  // CHECK: shoal.convolution "b01f,oi01->b01f" %{{.*}}, %{{.*}} {feature_group_count = 2 : i64}
  %2 = shoal.convolution "b01f,oi01->b01f" %x, %grouped {feature_group_count = 2}
     : tensor<2x9x9x4xf32>, tensor<8x2x3x3xf32> -> tensor<2x7x7x8xf32>
  // The result may be wider than the operands.
  // CHECK: shoal.convolution "b0f,0io->b0f" %{{.*}}, %{{.*}} {batch_group_count = 2 : i64} : tensor<4x9x2xbf16>, tensor<3x2x6xbf16> -> tensor<2x7x6xf32>
  %3 = shoal.convolution "b0f,0io->b0f" %line, %taps {batch_group_count = 2}
     : tensor<4x9x2xbf16>, tensor<3x2x6xbf16> -> tensor<2x7x6xf32>
  return
}

// CHECK-LABEL: @reduce_windows
func.func @reduce_windows(%x: tensor<8x9xf32>, %m: tensor<8x9xi1>, %zero: tensor<f32>, %false: tensor<i1>) {
  // CHECK: shoal.reduce_window sum %{{.*}}, %{{.*}} window = [1, 3] : tensor<8x9xf32>, tensor<f32> -> tensor<8x7xf32>
  %0 = shoal.reduce_window sum %x, %zero window = [1, 3] : tensor<8x9xf32>, tensor<f32> -> tensor<8x7xf32>
  // CHECK: shoal.reduce_window or %{{.*}}, %{{.*}} window = [2, 3] strides = [2, 3] low = [1, 0] high = [1, -1] base_dilation = [1, 2] window_dilation = [3, 1] : tensor<8x9xi1>, tensor<i1> -> tensor<4x5xi1>
  %1 = shoal.reduce_window or %m, %false window = [2, 3] strides = [2, 3] low = [1, 0] high = [1, -1] base_dilation = [1, 2] window_dilation = [3, 1]
     : tensor<8x9xi1>, tensor<i1> -> tensor<4x5xi1>
  return
}

// CHECK-LABEL: @selections
func.func @selections(%x: tensor<8x9xf32>, %y: tensor<4x5xf32>, %zero: tensor<f32>) {
  // CHECK: shoal.select_and_scatter min %{{.*}}, %{{.*}}, %{{.*}} window = [2, 2] strides = [2, 2] high = [0, 1] {last} : tensor<8x9xf32>, tensor<4x5xf32>, tensor<f32> -> tensor<8x9xf32>
  %0 = shoal.select_and_scatter min %x, %y, %zero window = [2, 2] strides = [2, 2] high = [0, 1] {last}
     : tensor<8x9xf32>, tensor<4x5xf32>, tensor<f32> -> tensor<8x9xf32>
  return
}
