// One line per op with windows: its factors, and which rows it reads.
//
// RUN: shoal-opt %s --shoal-print-factor-rules -verify-diagnostics

// Result rows are split; the kernel is whole along them.
func.func @image(%x: tensor<8x32x30x3xf32>, %k: tensor<3x5x3x16xf32>) -> tensor<8x16x26x16xf32> {
  // expected-remark @below {{([i, l, m, j], [, , j, k]) -> ([i, l, m, k]) i=8 j=3 k=16 l=16 m=26, reduces j:sum, linear in (0) (1), operand 0 dim 1 reads rows 2*l ... 2*l+2, operand 0 dim 2 reads rows m ... m+4}}
  %0 = shoal.convolution "b01f,01io->b01f" %x, %k strides = [2, 1] low = [0, 0] high = [1, 0] : tensor<8x32x30x3xf32>, tensor<3x5x3x16xf32> -> tensor<8x16x26x16xf32>
  return %0 : tensor<8x16x26x16xf32>
}

func.func @pointwise(%x: tensor<8x32x3xf32>, %k: tensor<1x3x16xf32>) -> tensor<8x32x16xf32> {
  // expected-remark @below {{([i, l, j], [, j, k]) -> ([i, l, k]) i=8 j=3 k=16 l=32, reduces j:sum, linear in (0) (1)}}
  %0 = shoal.convolution "b0f,0io->b0f" %x, %k : tensor<8x32x3xf32>, tensor<1x3x16xf32> -> tensor<8x32x16xf32>
  return %0 : tensor<8x32x16xf32>
}

// The kernel, a gradient here, has more rows than the result: they contract.
func.func @gradient(%x: tensor<8x32x3xf32>, %dy: tensor<8x30x16xf32>) -> tensor<3x3x16xf32> {
  // expected-remark @below {{([j, l, i], [j, l, k]) -> ([i, , k]) i=3 j=8 k=16 l=30, reduces j:sum l:sum, linear in (0) (1), operand 0 dim 1 reads rows l ... l+2}}
  %0 = shoal.convolution "f0b,i0o->b0f" %x, %dy : tensor<8x32x3xf32>, tensor<8x30x16xf32> -> tensor<3x3x16xf32>
  return %0 : tensor<3x3x16xf32>
}

// Groups are major in features, and split evenly or not at all.
func.func @groups(%x: tensor<8x32x6xf32>, %k: tensor<3x2x12xf32>) -> tensor<8x30x12xf32> {
  // expected-remark @below {{([j, m, ik], [, k, il]) -> ([j, m, il]) i=3(even) j=8 k=2(even) l=4(even) m=30, reduces k:sum, linear in (0) (1), operand 0 dim 1 reads rows m ... m+2}}
  %0 = shoal.convolution "b0f,0io->b0f" %x, %k {feature_group_count = 3} : tensor<8x32x6xf32>, tensor<3x2x12xf32> -> tensor<8x30x12xf32>
  return %0 : tensor<8x30x12xf32>
}

// Groups of one feature are features.
func.func @depthwise(%x: tensor<8x32x6xf32>, %k: tensor<3x1x6xf32>) -> tensor<8x30x6xf32> {
  // expected-remark @below {{([j, k, i], [, , i]) -> ([j, k, i]) i=6 j=8 k=30, linear in (0) (1), operand 0 dim 1 reads rows k ... k+2}}
  %0 = shoal.convolution "b0f,0io->b0f" %x, %k {feature_group_count = 6} : tensor<8x32x6xf32>, tensor<3x1x6xf32> -> tensor<8x30x6xf32>
  return %0 : tensor<8x30x6xf32>
}

func.func @batch_groups(%x: tensor<8x32x6xf32>, %k: tensor<3x6x12xf32>) -> tensor<2x30x12xf32> {
  // expected-remark @below {{([ij, m, k], [, k, il]) -> ([j, m, il]) i=4(even) j=2(even) k=6 l=3(even) m=30, reduces k:sum, linear in (0) (1), operand 0 dim 1 reads rows m ... m+2}}
  %0 = shoal.convolution "b0f,0io->b0f" %x, %k {batch_group_count = 4} : tensor<8x32x6xf32>, tensor<3x6x12xf32> -> tensor<2x30x12xf32>
  return %0 : tensor<2x30x12xf32>
}

// All rows in one window are a reduction.
func.func @pool(%x: tensor<8x32x6xf32>, %i: tensor<f32>) -> (tensor<8x16x6xf32>, tensor<8x1x6xf32>) {
  // expected-remark @below {{([i, j, k], []) -> ([i, j, k]) i=8 j=16 k=6, operand 0 dim 1 reads rows 2*j ... 2*j+2}}
  %0 = shoal.reduce_window max %x, %i window = [1, 3, 1] strides = [1, 2, 1] high = [0, 1, 0] : tensor<8x32x6xf32>, tensor<f32> -> tensor<8x16x6xf32>
  // expected-remark @below {{([i, j, k], []) -> ([i, , k]) i=8 j=32 k=6, reduces j:sum, linear in (0, 1)}}
  %1 = shoal.reduce_window sum %x, %i window = [1, 32, 1] : tensor<8x32x6xf32>, tensor<f32> -> tensor<8x1x6xf32>
  return %0, %1 : tensor<8x16x6xf32>, tensor<8x1x6xf32>
}

func.func @unpool(%x: tensor<8x32xf32>, %dy: tensor<8x16xf32>, %i: tensor<f32>) -> tensor<8x32xf32> {
  // expected-remark @below {{() -> ([])}}
  %zero = arith.constant dense<0.0> : tensor<f32>
  // expected-remark @below {{([i, j], [i, j], []) -> ([i, j]) i=8 j=32, linear in (1, 2) (1), operand 0 dim 1 reads rows j-2 ... j+2, operand 1 dim 1 reads rows (j-1)/2 ... (j)/2}}
  %0 = shoal.select_and_scatter max %x, %dy, %zero window = [1, 3] strides = [1, 2] high = [0, 1] : tensor<8x32xf32>, tensor<8x16xf32>, tensor<f32> -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}
