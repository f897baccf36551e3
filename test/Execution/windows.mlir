// Ops with windows on split dimensions: four ranks against the interpreter,
// every form that a local op takes.
//
// REQUIRES: mpi
// RUN: rm -rf %t && mkdir %t
// RUN: shoalc %s -o %t/f
// RUN: %mpirun -n 4 %t/f --random-inputs=1 --output-dir %t/actual
// RUN: shoal-run %s --devices=0 --random-inputs=1 --output-dir %t/expected
// RUN: diff -r %t/actual %t/expected

shoal.mesh @mesh = <["x" = 2, "y" = 2]>

func.func @f(
    %x: tensor<2x15x3xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x", "y"}, {}]>},
    %k: tensor<3x3x4xi32>,
    %image: tensor<2x9x7x4xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y"}, {"x"}, {}]>},
    %k2: tensor<2x5x4x3xi32>,
    %dy: tensor<2x13x4xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x", "y"}, {}]>},
    %channels: tensor<2x9x5xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}, {"x", "y"}]>},
    %kc: tensor<3x5x4xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x", "y"}, {}]>},
    %kg: tensor<3x1x5xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}, {"x", "y"}]>},
    %rows: tensor<15x3xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x", "y"}, {}]>},
    %drows: tensor<8x3xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x", "y"}, {}]>},
    %three: tensor<3x2xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x", "y"}, {}]>},
    %init: tensor<i32>)
    -> (tensor<2x15x4xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x", "y"}, {}]>},
        tensor<2x7x4xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x", "y"}, {}]>},
        tensor<2x29x4xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x", "y"}, {}]>},
        tensor<2x15x4xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y", "x"}, {}]>},
        tensor<2x10x4x3xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y"}, {"x"}, {}]>},
        tensor<3x3x4xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}, {}]>},
        tensor<2x7x4xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}, {}]>},
        tensor<2x7x5xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}, {"x", "y"}]>},
        tensor<8x3xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x", "y"}, {}]>},
        tensor<1x3xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
        tensor<15x3xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x", "y"}, {}]>},
        tensor<5x2xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x", "y"}, {}]>}) {
  // SAME padding; a stride; rows between rows, at places that depend on the
  // device; windows wider than two shards.
  %same = shoal.convolution "b0f,0io->b0f" %x, %k low = [1] high = [1] : tensor<2x15x3xi32>, tensor<3x3x4xi32> -> tensor<2x15x4xi32>
  %strided = shoal.convolution "b0f,0io->b0f" %x, %k strides = [2] : tensor<2x15x3xi32>, tensor<3x3x4xi32> -> tensor<2x7x4xi32>
  %transposed = shoal.convolution "b0f,0io->b0f" %x, %k low = [1] high = [1] base_dilation = [2] : tensor<2x15x3xi32>, tensor<3x3x4xi32> -> tensor<2x29x4xi32>
  %wide = shoal.convolution "b0f,0io->b0f" %x, %k low = [9] high = [9] window_dilation = [9] : tensor<2x15x3xi32>, tensor<3x3x4xi32> -> tensor<2x15x4xi32>
  // Two dimensions at once.
  %two = shoal.convolution "b01f,01io->b01f" %image, %k2 low = [1, 0] high = [1, 1] reversal = [true, false] : tensor<2x9x7x4xi32>, tensor<2x5x4x3xi32> -> tensor<2x10x4x3xi32>
  // Contracted rows, contracted features, a feature a group.
  %dk = shoal.convolution "f0b,i0o->b0f" %x, %dy : tensor<2x15x3xi32>, tensor<2x13x4xi32> -> tensor<3x3x4xi32>
  %mixed = shoal.convolution "b0f,0io->b0f" %channels, %kc : tensor<2x9x5xi32>, tensor<3x5x4xi32> -> tensor<2x7x4xi32>
  %depthwise = shoal.convolution "b0f,0io->b0f" %channels, %kg {feature_group_count = 5} : tensor<2x9x5xi32>, tensor<3x1x5xi32> -> tensor<2x7x5xi32>
  %pool = shoal.reduce_window max %rows, %init window = [3, 1] strides = [2, 1] low = [1, 0] high = [1, 0] : tensor<15x3xi32>, tensor<i32> -> tensor<8x3xi32>
  %all = shoal.reduce_window prod %rows, %init window = [15, 1] : tensor<15x3xi32>, tensor<i32> -> tensor<1x3xi32>
  %unpool = shoal.select_and_scatter max %rows, %drows, %init window = [3, 1] strides = [2, 1] low = [1, 0] high = [1, 0] : tensor<15x3xi32>, tensor<8x3xi32>, tensor<i32> -> tensor<15x3xi32>
  // More devices than rows.
  %few = shoal.reduce_window sum %three, %init window = [2, 1] low = [1, 0] high = [0, 0] base_dilation = [2, 1] : tensor<3x2xi32>, tensor<i32> -> tensor<5x2xi32>
  return %same, %strided, %transposed, %wide, %two, %dk, %mixed, %depthwise, %pool, %all, %unpool, %few
    : tensor<2x15x4xi32>, tensor<2x7x4xi32>, tensor<2x29x4xi32>, tensor<2x15x4xi32>, tensor<2x10x4x3xi32>,
      tensor<3x3x4xi32>, tensor<2x7x4xi32>, tensor<2x7x5xi32>, tensor<8x3xi32>, tensor<1x3xi32>,
      tensor<15x3xi32>, tensor<5x2xi32>
}
