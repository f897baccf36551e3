// RUN: shoal-run %s --print | FileCheck %s

// Values that can be followed by hand.

func.func @main() -> (
    tensor<1x3x1xf32> {shoal.name = "valid"}, tensor<1x5x1xf32> {shoal.name = "same"},
    tensor<1x3x1xf32> {shoal.name = "strided"}, tensor<1x3x1xf32> {shoal.name = "cut"},
    tensor<1x7x1xf32> {shoal.name = "transposed"}, tensor<1x3x1xf32> {shoal.name = "dilated"},
    tensor<1x3x1xf32> {shoal.name = "reversed"}, tensor<1x1x2xf32> {shoal.name = "by_feature"},
    tensor<1x1x2xf32> {shoal.name = "by_batch"}, tensor<1x1x1xbf16> {shoal.name = "rounds_once"},
    tensor<1x1x1xi8> {shoal.name = "wraps"}, tensor<2x2xf32> {shoal.name = "sum"},
    tensor<3xf32> {shoal.name = "init_once"}, tensor<3xf32> {shoal.name = "max"},
    tensor<1x3x2xf32> {shoal.name = "no_channels"}, tensor<2xi32> {shoal.name = "min_with_holes"}, tensor<5xf32> {shoal.name = "first"},
    tensor<5xf32> {shoal.name = "last"}, tensor<5xf32> {shoal.name = "smallest"},
    tensor<3xf32> {shoal.name = "not_a_number"}, tensor<2xf32> {shoal.name = "padding"}) {
  %x = arith.constant dense<[[[1.0], [2.0], [3.0], [4.0], [5.0]]]> : tensor<1x5x1xf32>
  %k = arith.constant dense<[[[1.0]], [[10.0]], [[100.0]]]> : tensor<3x1x1xf32>
  // 1 + 20 + 300, 2 + 30 + 400, 3 + 40 + 500
  // CHECK{LITERAL}: valid: tensor<1x3x1xf32> = [[[321], [432], [543]]]
  %valid = shoal.convolution "b0f,0io->b0f" %x, %k : tensor<1x5x1xf32>, tensor<3x1x1xf32> -> tensor<1x3x1xf32>
  // CHECK{LITERAL}: same: tensor<1x5x1xf32> = [[[210], [321], [432], [543], [54]]]
  %same = shoal.convolution "b0f,0io->b0f" %x, %k low = [1] high = [1] : tensor<1x5x1xf32>, tensor<3x1x1xf32> -> tensor<1x5x1xf32>
  // CHECK{LITERAL}: strided: tensor<1x3x1xf32> = [[[210], [432], [54]]]
  %strided = shoal.convolution "b0f,0io->b0f" %x, %k strides = [2] low = [1] high = [1] : tensor<1x5x1xf32>, tensor<3x1x1xf32> -> tensor<1x3x1xf32>
  // The first row is cut off, a row of padding added.
  // CHECK{LITERAL}: cut: tensor<1x3x1xf32> = [[[432], [543], [54]]]
  %cut = shoal.convolution "b0f,0io->b0f" %x, %k low = [-1] high = [1] : tensor<1x5x1xf32>, tensor<3x1x1xf32> -> tensor<1x3x1xf32>
  // Over 1 0 2 0 3 0 4 0 5.
  // CHECK{LITERAL}: transposed: tensor<1x7x1xf32> = [[[201], [20], [302], [30], [403], [40], [504]]]
  %transposed = shoal.convolution "b0f,0io->b0f" %x, %k base_dilation = [2] : tensor<1x5x1xf32>, tensor<3x1x1xf32> -> tensor<1x7x1xf32>
  // 0 + 10 * 2 + 100 * 4 at the first place.
  // CHECK{LITERAL}: dilated: tensor<1x3x1xf32> = [[[420], [531], [42]]]
  %dilated = shoal.convolution "b0f,0io->b0f" %x, %k low = [1] high = [1] window_dilation = [2] : tensor<1x5x1xf32>, tensor<3x1x1xf32> -> tensor<1x3x1xf32>
  // CHECK{LITERAL}: reversed: tensor<1x3x1xf32> = [[[123], [234], [345]]]
  %reversed = shoal.convolution "b0f,0io->b0f" %x, %k reversal = [true] : tensor<1x5x1xf32>, tensor<3x1x1xf32> -> tensor<1x3x1xf32>

  %pair = arith.constant dense<[[[2.0, 3.0]]]> : tensor<1x1x2xf32>
  %two = arith.constant dense<[[[10.0, 100.0]]]> : tensor<1x1x2xf32>
  // Each feature has its own kernel.
  // CHECK{LITERAL}: by_feature: tensor<1x1x2xf32> = [[[20, 300]]]
  %by_feature = shoal.convolution "b0f,0io->b0f" %pair, %two {feature_group_count = 2} : tensor<1x1x2xf32>, tensor<1x1x2xf32> -> tensor<1x1x2xf32>
  %batch = arith.constant dense<[[[2.0]], [[3.0]]]> : tensor<2x1x1xf32>
  // Each element of the batch has its own kernel.
  // CHECK{LITERAL}: by_batch: tensor<1x1x2xf32> = [[[20, 300]]]
  %by_batch = shoal.convolution "b0f,0io->b0f" %batch, %two {batch_group_count = 2} : tensor<2x1x1xf32>, tensor<1x1x2xf32> -> tensor<1x1x2xf32>
  // 256 + 1 + 1 is a bf16, but 256 + 1 rounds back to 256.
  %fine = arith.constant dense<[[[256.0], [1.0], [1.0]]]> : tensor<1x3x1xbf16>
  %ones = arith.constant dense<1.0> : tensor<3x1x1xbf16>
  // CHECK{LITERAL}: rounds_once: tensor<1x1x1xbf16> = [[[258]]]
  %rounds_once = shoal.convolution "b0f,0io->b0f" %fine, %ones : tensor<1x3x1xbf16>, tensor<3x1x1xbf16> -> tensor<1x1x1xbf16>
  %hundred = arith.constant dense<100> : tensor<1x3x1xi8>
  %one = arith.constant dense<1> : tensor<3x1x1xi8>
  // CHECK{LITERAL}: wraps: tensor<1x1x1xi8> = [[[44]]]
  %wraps = shoal.convolution "b0f,0io->b0f" %hundred, %one : tensor<1x3x1xi8>, tensor<3x1x1xi8> -> tensor<1x1x1xi8>

  %zero = arith.constant dense<0.0> : tensor<f32>
  %table = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]> : tensor<3x3xf32>
  // CHECK{LITERAL}: sum: tensor<2x2xf32> = [[12, 16], [24, 28]]
  %sum = shoal.reduce_window sum %table, %zero window = [2, 2] : tensor<3x3xf32>, tensor<f32> -> tensor<2x2xf32>
  %line = arith.constant dense<[1.0, 4.0, 2.0]> : tensor<3xf32>
  %hundreds = arith.constant dense<100.0> : tensor<f32>
  // Padding adds nothing, the initial value counts once.
  // CHECK: init_once: tensor<3xf32> = [105, 107, 106]
  %init_once = shoal.reduce_window sum %line, %hundreds window = [3] low = [1] high = [1] : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %lowest = arith.constant dense<0xFF800000> : tensor<f32>
  // The last window lies in the padding.
  // CHECK: max: tensor<3xf32> = [1, 4, -inf]
  %max = shoal.reduce_window max %line, %lowest window = [2] strides = [2] low = [1] high = [2] : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %ints = arith.constant dense<[5, 3]> : tensor<2xi32>
  %seven = arith.constant dense<7> : tensor<i32>
  // A sum of no terms, in two groups of features that have none.
  // CHECK{LITERAL}: no_channels: tensor<1x3x2xf32> = [[[0, 0], [0, 0], [0, 0]]]
  %empty = arith.constant dense<> : tensor<1x3x0xf32>
  %no_kernel = arith.constant dense<> : tensor<1x0x2xf32>
  %no_channels = shoal.convolution "b0f,0io->b0f" %empty, %no_kernel {feature_group_count = 2 : i64} : tensor<1x3x0xf32>, tensor<1x0x2xf32> -> tensor<1x3x2xf32>

  // Over 5 . . 3: the windows hold 5 . and . 3.
  // CHECK: min_with_holes: tensor<2xi32> = [5, 3]
  %min_with_holes = shoal.reduce_window min %ints, %seven window = [2] strides = [2] base_dilation = [3] : tensor<2xi32>, tensor<i32> -> tensor<2xi32>

  %ties = arith.constant dense<[3.0, 5.0, 5.0, 1.0, 5.0]> : tensor<5xf32>
  %source = arith.constant dense<[10.0, 20.0]> : tensor<2xf32>
  // Windows 3 5 5 and 5 1 5.
  // CHECK: first: tensor<5xf32> = [0, 10, 20, 0, 0]
  %first = shoal.select_and_scatter max %ties, %source, %zero window = [3] strides = [2] : tensor<5xf32>, tensor<2xf32>, tensor<f32> -> tensor<5xf32>
  // CHECK: last: tensor<5xf32> = [0, 0, 10, 0, 20]
  %last = shoal.select_and_scatter max %ties, %source, %zero window = [3] strides = [2] {last} : tensor<5xf32>, tensor<2xf32>, tensor<f32> -> tensor<5xf32>
  // CHECK: smallest: tensor<5xf32> = [110, 100, 100, 120, 100]
  %smallest = shoal.select_and_scatter min %ties, %source, %hundreds window = [3] strides = [2] : tensor<5xf32>, tensor<2xf32>, tensor<f32> -> tensor<5xf32>
  %nan = arith.constant dense<[1.0, 0x7FC00000, 2.0]> : tensor<3xf32>
  %unit = arith.constant dense<[1.0]> : tensor<1xf32>
  // CHECK: not_a_number: tensor<3xf32> = [0, 1, 0]
  %not_a_number = shoal.select_and_scatter max %nan, %unit, %zero window = [3] : tensor<3xf32>, tensor<1xf32>, tensor<f32> -> tensor<3xf32>
  // The first window is . -inf: the padding is the first of equals, and what it
  // gets is lost.
  %low = arith.constant dense<[0xFF800000, 1.0]> : tensor<2xf32>
  // CHECK: padding: tensor<2xf32> = [0, 20]
  %padding = shoal.select_and_scatter max %low, %source, %zero window = [2] low = [1] : tensor<2xf32>, tensor<2xf32>, tensor<f32> -> tensor<2xf32>
  return %valid, %same, %strided, %cut, %transposed, %dilated, %reversed, %by_feature, %by_batch,
    %rounds_once, %wraps, %sum, %init_once, %max, %no_channels, %min_with_holes, %first, %last, %smallest,
    %not_a_number, %padding
    : tensor<1x3x1xf32>, tensor<1x5x1xf32>, tensor<1x3x1xf32>, tensor<1x3x1xf32>, tensor<1x7x1xf32>,
      tensor<1x3x1xf32>, tensor<1x3x1xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x1xbf16>,
      tensor<1x1x1xi8>, tensor<2x2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<1x3x2xf32>, tensor<2xi32>, tensor<5xf32>,
      tensor<5xf32>, tensor<5xf32>, tensor<3xf32>, tensor<2xf32>
}
