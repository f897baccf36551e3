// Chains that read rows of one tensor become one op.
//
// RUN: shoal-opt %s --canonicalize | FileCheck %s

// (S1)
// CHECK-LABEL: func @slice_of_slice(
// CHECK-NEXT: shoal.slice %arg0 starts = [5] limits = [12] strides = [6] : tensor<20xf32> -> tensor<2xf32>
func.func @slice_of_slice(%x: tensor<20xf32>) -> tensor<2xf32> {
  %0 = shoal.slice %x starts = [2] limits = [20] strides = [3] : tensor<20xf32> -> tensor<6xf32>
  %1 = shoal.slice %0 starts = [1] limits = [5] strides = [2] : tensor<6xf32> -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// A shift: zeros in front, the last rows cut. (S2)
// CHECK-LABEL: func @slice_of_pad(
// CHECK-NEXT: shoal.pad %arg0, %arg1 low = [3] high = [-3] interior = [0] : tensor<20xf32>, tensor<f32> -> tensor<20xf32>
func.func @slice_of_pad(%x: tensor<20xf32>, %v: tensor<f32>) -> tensor<20xf32> {
  %0 = shoal.pad %x, %v low = [3] high = [0] interior = [0] : tensor<20xf32>, tensor<f32> -> tensor<23xf32>
  %1 = shoal.slice %0 starts = [0] limits = [20] strides = [1] : tensor<23xf32> -> tensor<20xf32>
  return %1 : tensor<20xf32>
}

// (S3), (C2)
// CHECK-LABEL: func @slice_of_concatenate(
// CHECK-NEXT: shoal.roll %arg0 dim = 0 shift = 13 : tensor<20xf32>
func.func @slice_of_concatenate(%x: tensor<20xf32>) -> tensor<20xf32> {
  %0 = shoal.concatenate %x, %x dim = 0 : (tensor<20xf32>, tensor<20xf32>) -> tensor<40xf32>
  %1 = shoal.slice %0 starts = [7] limits = [27] strides = [1] : tensor<40xf32> -> tensor<20xf32>
  return %1 : tensor<20xf32>
}

// (P1)
// CHECK-LABEL: func @pad_of_slice(
// CHECK-NEXT: shoal.pad %arg0, %arg1 low = [-3] high = [3] interior = [0] : tensor<20xf32>, tensor<f32> -> tensor<20xf32>
func.func @pad_of_slice(%x: tensor<20xf32>, %v: tensor<f32>) -> tensor<20xf32> {
  %0 = shoal.slice %x starts = [3] limits = [20] strides = [1] : tensor<20xf32> -> tensor<17xf32>
  %1 = shoal.pad %0, %v low = [0] high = [3] interior = [0] : tensor<17xf32>, tensor<f32> -> tensor<20xf32>
  return %1 : tensor<20xf32>
}

// The pad's value replaces rows that were cut.
// CHECK-LABEL: func @pad_over_what_is_cut(
// CHECK-NEXT: shoal.slice
// CHECK-NEXT: shoal.pad
func.func @pad_over_what_is_cut(%x: tensor<20xf32>, %v: tensor<f32>) -> tensor<20xf32> {
  %0 = shoal.slice %x starts = [3] limits = [20] strides = [1] : tensor<20xf32> -> tensor<17xf32>
  %1 = shoal.pad %0, %v low = [3] high = [0] interior = [0] : tensor<17xf32>, tensor<f32> -> tensor<20xf32>
  return %1 : tensor<20xf32>
}

// (C1), then (C2)
// CHECK-LABEL: func @neighbours(
// CHECK-NEXT: shoal.roll %arg0 dim = 0 shift = 4 : tensor<20x2xf32>
func.func @neighbours(%x: tensor<20x2xf32>) -> tensor<20x2xf32> {
  %0 = shoal.slice %x starts = [16, 0] limits = [18, 2] strides = [1, 1] : tensor<20x2xf32> -> tensor<2x2xf32>
  %1 = shoal.slice %x starts = [18, 0] limits = [20, 2] strides = [1, 1] : tensor<20x2xf32> -> tensor<2x2xf32>
  %2 = shoal.slice %x starts = [0, 0] limits = [16, 2] strides = [1, 1] : tensor<20x2xf32> -> tensor<16x2xf32>
  %3 = shoal.concatenate %0, %1, %2 dim = 0 : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<16x2xf32>) -> tensor<20x2xf32>
  return %3 : tensor<20x2xf32>
}

// (C3)
// CHECK-LABEL: func @constants_around(
// CHECK: shoal.pad %arg0, %{{.*}} low = [1] high = [2] interior = [0] : tensor<20xf32>, tensor<f32> -> tensor<23xf32>
func.func @constants_around(%x: tensor<20xf32>) -> tensor<23xf32> {
  %a = arith.constant dense<1.0> : tensor<1xf32>
  %b = arith.constant dense<1.0> : tensor<2xf32>
  %0 = shoal.concatenate %a, %x, %b dim = 0 : (tensor<1xf32>, tensor<20xf32>, tensor<2xf32>) -> tensor<23xf32>
  return %0 : tensor<23xf32>
}

// (C4), (C5)
// CHECK-LABEL: func @concatenate_of_concatenate(
// CHECK-NEXT: shoal.concatenate %arg0, %arg1, %arg0 dim = 0
func.func @concatenate_of_concatenate(%x: tensor<20xf32>, %y: tensor<3xf32>, %none: tensor<0xf32>) -> tensor<43xf32> {
  %0 = shoal.concatenate %x, %none, %y dim = 0 : (tensor<20xf32>, tensor<0xf32>, tensor<3xf32>) -> tensor<23xf32>
  %1 = shoal.concatenate %0, %x dim = 0 : (tensor<23xf32>, tensor<20xf32>) -> tensor<43xf32>
  return %1 : tensor<43xf32>
}

// Along another dimension, or read by others: nothing to gain.
// CHECK-LABEL: func @concatenate_of_others(
// CHECK-COUNT-4: shoal.concatenate
func.func @concatenate_of_others(%x: tensor<2x2xf32>) -> (tensor<4x4xf32>, tensor<4x2xf32>, tensor<6x2xf32>) {
  %0 = shoal.concatenate %x, %x dim = 1 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x4xf32>
  %1 = shoal.concatenate %0, %0 dim = 0 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  %2 = shoal.concatenate %x, %x dim = 0 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %3 = shoal.concatenate %2, %x dim = 0 : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<6x2xf32>
  return %1, %2, %3 : tensor<4x4xf32>, tensor<4x2xf32>, tensor<6x2xf32>
}

// (C5)
// CHECK-LABEL: func @nothing_but_none(
// CHECK-NEXT: return %arg0
func.func @nothing_but_none(%none: tensor<0xf32>) -> tensor<0xf32> {
  %0 = shoal.concatenate %none, %none dim = 0 : (tensor<0xf32>, tensor<0xf32>) -> tensor<0xf32>
  return %0 : tensor<0xf32>
}

// No rows of one tensor, or not all of them.
// CHECK-LABEL: func @others(
// CHECK-COUNT-2: shoal.concatenate
func.func @others(%x: tensor<20xf32>, %y: tensor<20xf32>) -> (tensor<20xf32>, tensor<19xf32>) {
  %0 = shoal.slice %x starts = [16] limits = [20] strides = [1] : tensor<20xf32> -> tensor<4xf32>
  %1 = shoal.slice %y starts = [0] limits = [16] strides = [1] : tensor<20xf32> -> tensor<16xf32>
  %2 = shoal.concatenate %0, %1 dim = 0 : (tensor<4xf32>, tensor<16xf32>) -> tensor<20xf32>
  %3 = shoal.slice %x starts = [0] limits = [15] strides = [1] : tensor<20xf32> -> tensor<15xf32>
  %4 = shoal.concatenate %0, %3 dim = 0 : (tensor<4xf32>, tensor<15xf32>) -> tensor<19xf32>
  return %2, %4 : tensor<20xf32>, tensor<19xf32>
}
