// RUN: shoal-opt %s --split-input-file --shoal-partition="flops-per-byte=1000 repeat-margin=1" --canonicalize | FileCheck %s

// What ops with windows send and compute where a dimension is split.

shoal.mesh @mesh = <["x" = 2]>

// 15 rows on 2 devices of 8, the first example of GShard: a row from each
// neighbour, zeros for those that do not exist.
// CHECK-LABEL: func @fifteen_rows(
func.func @fifteen_rows(%x: tensor<1x15x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}, {}]>}, %k: tensor<3x4x4xf32>)
    -> (tensor<1x15x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}, {}]>}) {
  // CHECK: %[[ROWS:.*]] = spmd.halo_exchange @mesh {"x"} %{{.*}} {dim = 1 : i64, offset = -1 : i64, size = 15 : i64, step = 8 : i64, {{.*}}} : tensor<1x8x4xf32> -> tensor<1x10x4xf32>
  // CHECK: %[[MASKED:.*]] = arith.select %{{.*}}, %[[ROWS]], %{{.*}} : tensor<1x10x4xi1>
  // CHECK-NEXT: %[[Y:.*]] = shoal.convolution "b0f,0io->b0f" %[[MASKED]], %{{.*}} : tensor<1x10x4xf32>, tensor<3x4x4xf32> -> tensor<1x8x4xf32>
  // CHECK-NEXT: return %[[Y]]
  %0 = shoal.convolution "b0f,0io->b0f" %x, %k low = [1] high = [1] : tensor<1x15x4xf32>, tensor<3x4x4xf32> -> tensor<1x15x4xf32>
  return %0 : tensor<1x15x4xf32>
}

// A stride of 2: no row from the right.
// CHECK-LABEL: func @same_with_stride(
func.func @same_with_stride(%x: tensor<1x15x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}, {}]>}, %k: tensor<3x4x4xf32>)
    -> (tensor<1x8x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}, {}]>}) {
  // CHECK: spmd.halo_exchange @mesh {"x"} %{{.*}} {dim = 1 : i64, offset = -1 : i64, size = 15 : i64, step = 8 : i64, {{.*}}} : tensor<1x8x4xf32> -> tensor<1x9x4xf32>
  // CHECK: shoal.convolution "b0f,0io->b0f" %{{.*}}, %{{.*}} strides = [2] : tensor<1x9x4xf32>, tensor<3x4x4xf32> -> tensor<1x4x4xf32>
  // CHECK-NEXT: return
  %0 = shoal.convolution "b0f,0io->b0f" %x, %k strides = [2] low = [1] high = [1] : tensor<1x15x4xf32>, tensor<3x4x4xf32> -> tensor<1x8x4xf32>
  return %0 : tensor<1x8x4xf32>
}

// Windows of shard 1 begin at row 9, its rows at 10. Nothing lies outside.
// CHECK-LABEL: func @stride_across_shards(
func.func @stride_across_shards(%x: tensor<1x20x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}, {}]>}, %k: tensor<3x4x4xf32>)
    -> (tensor<1x6x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}, {}]>}) {
  // CHECK: spmd.halo_exchange @mesh {"x"} %{{.*}} {dim = 1 : i64, offset = 0 : i64, size = 20 : i64, step = 9 : i64, {{.*}}} : tensor<1x10x4xf32> -> tensor<1x9x4xf32>
  // CHECK-NEXT: shoal.convolution
  // CHECK-NEXT: return
  %0 = shoal.convolution "b0f,0io->b0f" %x, %k strides = [3] : tensor<1x20x4xf32>, tensor<3x4x4xf32> -> tensor<1x6x4xf32>
  return %0 : tensor<1x6x4xf32>
}

// Base dilation, and blocks that all begin at the same place between rows:
// the padding says where.
// CHECK-LABEL: func @transposed_even(
func.func @transposed_even(%x: tensor<1x6x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}, {}]>}, %k: tensor<3x4x4xf32>)
    -> (tensor<1x12x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}, {}]>}) {
  // CHECK: spmd.halo_exchange @mesh {"x"} %{{.*}} {dim = 1 : i64, divisor = 2 : i64, offset = 0 : i64, size = 6 : i64, step = 6 : i64, {{.*}}} : tensor<1x3x4xf32> -> tensor<1x4x4xf32>
  // CHECK-NOT: shoal.dynamic_slice
  // CHECK: shoal.convolution "b0f,0io->b0f" %{{.*}}, %{{.*}} low = [1] base_dilation = [2] : tensor<1x4x4xf32>, tensor<3x4x4xf32> -> tensor<1x6x4xf32>
  %0 = shoal.convolution "b0f,0io->b0f" %x, %k low = [1] high = [2] base_dilation = [2] : tensor<1x6x4xf32>, tensor<3x4x4xf32> -> tensor<1x12x4xf32>
  return %0 : tensor<1x12x4xf32>
}

// Blocks of 5 begin at a row or between rows.
// CHECK-LABEL: func @transposed_odd(
func.func @transposed_odd(%x: tensor<1x5x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}, {}]>}, %k: tensor<3x4x4xf32>)
    -> (tensor<1x9x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}, {}]>}) {
  // CHECK: spmd.halo_exchange @mesh {"x"} %{{.*}} {dim = 1 : i64, divisor = 2 : i64, offset = 0 : i64, size = 5 : i64, step = 5 : i64, {{.*}}} : tensor<1x3x4xf32> -> tensor<1x4x4xf32>
  // CHECK: %[[HOLES:.*]] = shoal.pad %{{.*}} low = [0, 1, 0] high = [0, 0, 0] interior = [0, 1, 0] : tensor<1x4x4xf32>, tensor<f32> -> tensor<1x8x4xf32>
  // CHECK: %[[CUT:.*]] = shoal.dynamic_slice %[[HOLES]]
  // CHECK-NEXT: shoal.convolution "b0f,0io->b0f" %[[CUT]], %{{.*}} : tensor<1x7x4xf32>, tensor<3x4x4xf32> -> tensor<1x5x4xf32>
  %0 = shoal.convolution "b0f,0io->b0f" %x, %k low = [1] high = [1] base_dilation = [2] : tensor<1x5x4xf32>, tensor<3x4x4xf32> -> tensor<1x9x4xf32>
  return %0 : tensor<1x9x4xf32>
}

// The gradient of a kernel: rows contract, with a halo on the operand.
// CHECK-LABEL: func @gradient_of_kernel(
func.func @gradient_of_kernel(%x: tensor<8x32x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}, {}]>},
                              %dy: tensor<8x30x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}, {}]>})
    -> (tensor<4x3x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}, {}]>}) {
  // CHECK: spmd.halo_exchange @mesh {"x"} %{{.*}} {dim = 1 : i64, offset = 0 : i64, size = 32 : i64, step = 15 : i64, {{.*}}} : tensor<8x16x4xf32> -> tensor<8x17x4xf32>
  // CHECK-NEXT: shoal.convolution "f0b,i0o->b0f" %{{.*}}, %{{.*}} : tensor<8x17x4xf32>, tensor<8x15x4xf32> -> tensor<4x3x4xf32>
  // CHECK-NEXT: spmd.all_reduce sum @mesh {"x"}
  // CHECK-NEXT: return
  %0 = shoal.convolution "f0b,i0o->b0f" %x, %dy : tensor<8x32x4xf32>, tensor<8x30x4xf32> -> tensor<4x3x4xf32>
  return %0 : tensor<4x3x4xf32>
}

// Input features contract; both operands are masked, as in an einsum.
// CHECK-LABEL: func @features(
func.func @features(%x: tensor<2x9x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}, {"x"}]>},
                    %k: tensor<3x5x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}, {}]>})
    -> (tensor<2x7x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}, {}]>}) {
  // CHECK-COUNT-2: arith.select
  // CHECK-NEXT: shoal.convolution
  // CHECK-NEXT: spmd.all_reduce sum @mesh {"x"}
  // CHECK-NEXT: return
  %0 = shoal.convolution "b0f,0io->b0f" %x, %k : tensor<2x9x5xf32>, tensor<3x5x4xf32> -> tensor<2x7x4xf32>
  return %0 : tensor<2x7x4xf32>
}

// A group on each device.
// CHECK-LABEL: func @groups(
func.func @groups(%x: tensor<2x9x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}, {"x"}]>},
                  %k: tensor<3x3x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}, {"x"}]>})
    -> (tensor<2x7x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}, {"x"}]>}) {
  // CHECK: shoal.convolution "b0f,0io->b0f" %{{.*}}, %{{.*}} : tensor<2x9x3xf32>, tensor<3x3x2xf32> -> tensor<2x7x2xf32>
  // CHECK-NEXT: return
  %0 = shoal.convolution "b0f,0io->b0f" %x, %k {feature_group_count = 2} : tensor<2x9x6xf32>, tensor<3x3x4xf32> -> tensor<2x7x4xf32>
  return %0 : tensor<2x7x4xf32>
}

// CHECK-LABEL: func @pool(
func.func @pool(%x: tensor<15x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}, %i: tensor<f32>)
    -> (tensor<8x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  // CHECK: spmd.halo_exchange @mesh {"x"} %{{.*}} {dim = 0 : i64, offset = -1 : i64, size = 15 : i64, step = 8 : i64, {{.*}}} : tensor<8x4xf32> -> tensor<9x4xf32>
  // CHECK: shoal.reduce_window max %{{.*}}, %{{.*}} window = [3, 1] strides = [2, 1] : tensor<9x4xf32>, tensor<f32> -> tensor<4x4xf32>
  // CHECK-NEXT: return
  %0 = shoal.reduce_window max %x, %i window = [3, 1] strides = [2, 1] low = [1, 0] high = [1, 0] : tensor<15x4xf32>, tensor<f32> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// One device has the initial value, the others zero.
// CHECK-LABEL: func @pool_all(
func.func @pool_all(%x: tensor<15x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}, %i: tensor<f32>)
    -> (tensor<1x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>}) {
  // CHECK: %[[INIT:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<i1>, tensor<f32>
  // CHECK-NEXT: shoal.reduce_window sum %{{.*}}, %[[INIT]] window = [8, 1] : tensor<8x4xf32>, tensor<f32> -> tensor<1x4xf32>
  // CHECK-NEXT: spmd.all_reduce sum @mesh {"x"}
  // CHECK-NEXT: return
  %0 = shoal.reduce_window sum %x, %i window = [15, 1] : tensor<15x4xf32>, tensor<f32> -> tensor<1x4xf32>
  return %0 : tensor<1x4xf32>
}

// Windows that end where shards end: nothing is sent.
// CHECK-LABEL: func @unpool(
func.func @unpool(%x: tensor<16x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
                  %dy: tensor<8x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}, %i: tensor<f32>)
    -> (tensor<16x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  // CHECK: shoal.select_and_scatter max %{{.*}}, %{{.*}}, %{{.*}} window = [2, 1] strides = [2, 1] : tensor<8x4xf32>, tensor<4x4xf32>, tensor<f32> -> tensor<8x4xf32>
  // CHECK-NEXT: return
  %0 = shoal.select_and_scatter max %x, %dy, %i window = [2, 1] strides = [2, 1] : tensor<16x4xf32>, tensor<8x4xf32>, tensor<f32> -> tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}

// 5 windows touch the 8 rows of a device; it scatters over their 11 rows and
// keeps its own.
// CHECK-LABEL: func @unpool_overlapping(
func.func @unpool_overlapping(%x: tensor<15x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
                  %dy: tensor<8x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}, %i: tensor<f32>)
    -> (tensor<15x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  // CHECK: spmd.halo_exchange @mesh {"x"} %{{.*}} {dim = 0 : i64, divisor = 2 : i64, offset = 0 : i64, size = 8 : i64, step = 8 : i64, {{.*}}} : tensor<4x4xf32> -> tensor<5x4xf32>
  // CHECK: spmd.halo_exchange @mesh {"x"} %{{.*}} {dim = 0 : i64, offset = -1 : i64, size = 15 : i64, step = 8 : i64, {{.*}}} : tensor<8x4xf32> -> tensor<11x4xf32>
  // CHECK: shoal.select_and_scatter max %{{.*}}, %{{.*}}, %{{.*}} window = [3, 1] strides = [2, 1] : tensor<11x4xf32>, tensor<5x4xf32>, tensor<f32> -> tensor<11x4xf32>
  // CHECK-NEXT: shoal.slice %{{.*}} starts = [1, 0] limits = [9, 4]
  // CHECK-NEXT: return
  %0 = shoal.select_and_scatter max %x, %dy, %i window = [3, 1] strides = [2, 1] low = [1, 0] high = [1, 0] : tensor<15x4xf32>, tensor<8x4xf32>, tensor<f32> -> tensor<15x4xf32>
  return %0 : tensor<15x4xf32>
}

// CHECK-LABEL: func @batch(
func.func @batch(%x: tensor<5x9x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}, {}]>}, %k: tensor<3x3x4xf32>)
    -> (tensor<5x7x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}, {}]>}) {
  // CHECK-NEXT: %[[Y:.*]] = shoal.convolution "b0f,0io->b0f" %{{.*}}, %{{.*}} : tensor<3x9x3xf32>, tensor<3x3x4xf32> -> tensor<3x7x4xf32>
  // CHECK-NEXT: return %[[Y]]
  %0 = shoal.convolution "b0f,0io->b0f" %x, %k : tensor<5x9x3xf32>, tensor<3x3x4xf32> -> tensor<5x7x4xf32>
  return %0 : tensor<5x7x4xf32>
}

// CHECK-LABEL: func @output_features(
func.func @output_features(%x: tensor<2x9x3xf32>, %k: tensor<3x3x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}, {"x"}]>})
    -> (tensor<2x7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}, {"x"}]>}) {
  // CHECK-NEXT: %[[Y:.*]] = shoal.convolution "b0f,0io->b0f" %{{.*}}, %{{.*}} : tensor<2x9x3xf32>, tensor<3x3x3xf32> -> tensor<2x7x3xf32>
  // CHECK-NEXT: return %[[Y]]
  %0 = shoal.convolution "b0f,0io->b0f" %x, %k : tensor<2x9x3xf32>, tensor<3x3x5xf32> -> tensor<2x7x5xf32>
  return %0 : tensor<2x7x5xf32>
}

// Groups of one feature are features: 5 on 2 devices.
// CHECK-LABEL: func @depthwise(
func.func @depthwise(%x: tensor<2x9x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}, {"x"}]>},
                     %k: tensor<3x1x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}, {"x"}]>})
    -> (tensor<2x7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}, {"x"}]>}) {
  // CHECK-NEXT: %[[Y:.*]] = shoal.convolution "b0f,0io->b0f" %{{.*}}, %{{.*}} {feature_group_count = 3 : i64} : tensor<2x9x3xf32>, tensor<3x1x3xf32> -> tensor<2x7x3xf32>
  // CHECK-NEXT: return %[[Y]]
  %0 = shoal.convolution "b0f,0io->b0f" %x, %k {feature_group_count = 5} : tensor<2x9x5xf32>, tensor<3x1x5xf32> -> tensor<2x7x5xf32>
  return %0 : tensor<2x7x5xf32>
}

// Blocks of 5 features would begin inside of a group of 3: the batch is split
// instead.
// CHECK-LABEL: func @uneven_groups(
func.func @uneven_groups(%x: tensor<2x9x9xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}, {"x"}]>}, %k: tensor<3x3x3xf32>)
    -> (tensor<2x7x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}, {}]>}) {
  // CHECK-NEXT: spmd.all_to_all @mesh [{"x"} : 2 -> 0]
  // CHECK-NEXT: shoal.convolution "b0f,0io->b0f" %{{.*}}, %{{.*}} {feature_group_count = 3 : i64} : tensor<1x9x9xf32>
  %0 = shoal.convolution "b0f,0io->b0f" %x, %k {feature_group_count = 3} : tensor<2x9x9xf32>, tensor<3x3x3xf32> -> tensor<2x7x3xf32>
  return %0 : tensor<2x7x3xf32>
}

// CHECK-LABEL: func @batch_groups(
func.func @batch_groups(%x: tensor<6x9x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}, {}]>},
                        %k: tensor<3x3x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}, {"x"}]>})
    -> (tensor<3x7x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}, {"x"}]>}) {
  // CHECK-NEXT: %[[Y:.*]] = shoal.convolution "b0f,0io->b0f" %{{.*}}, %{{.*}} : tensor<3x9x3xf32>, tensor<3x3x2xf32> -> tensor<3x7x2xf32>
  // CHECK-NEXT: return %[[Y]]
  %0 = shoal.convolution "b0f,0io->b0f" %x, %k {batch_group_count = 2} : tensor<6x9x3xf32>, tensor<3x3x4xf32> -> tensor<3x7x4xf32>
  return %0 : tensor<3x7x4xf32>
}

// Windows reach over 8 rows; only their ends are fetched with what is between.
// CHECK-LABEL: func @window_dilation(
func.func @window_dilation(%x: tensor<2x24x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}, {}]>}, %k: tensor<3x3x4xf32>)
    -> (tensor<2x16x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}, {}]>}) {
  // CHECK-NEXT: spmd.halo_exchange @mesh {"x"} %{{.*}} {dim = 1 : i64, offset = 0 : i64, size = 24 : i64, step = 8 : i64, {{.*}}} : tensor<2x12x3xf32> -> tensor<2x16x3xf32>
  // CHECK-NEXT: shoal.convolution "b0f,0io->b0f" %{{.*}}, %{{.*}} window_dilation = [4]
  // CHECK-NEXT: return
  %0 = shoal.convolution "b0f,0io->b0f" %x, %k window_dilation = [4] : tensor<2x24x3xf32>, tensor<3x3x4xf32> -> tensor<2x16x4xf32>
  return %0 : tensor<2x16x4xf32>
}

// Few rows of a kernel, though they are split: the kernel is gathered, which is
// less than to add up results.
// CHECK-LABEL: func @kernel_rows(
func.func @kernel_rows(%x: tensor<2x24x3xf32>, %k: tensor<4x3x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}, {}]>})
    -> (tensor<2x21x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}, {}]>}) {
  // CHECK: spmd.all_gather @mesh [{"x"}, {}, {}] %{{.*}} : tensor<2x3x4xf32> -> tensor<4x3x4xf32>
  // CHECK-NOT: spmd.all_{{gather|reduce}}
  // CHECK: return
  %0 = shoal.convolution "b0f,0io->b0f" %x, %k : tensor<2x24x3xf32>, tensor<4x3x4xf32> -> tensor<2x21x4xf32>
  return %0 : tensor<2x21x4xf32>
}

// Other reductions than sums are finished at once.
// CHECK-LABEL: func @max_over_all(
func.func @max_over_all(%x: tensor<15x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}, %i: tensor<f32>)
    -> (tensor<1x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>}) {
  // CHECK: %[[Y:.*]] = shoal.reduce_window max %{{.*}}, %{{.*}} window = [8, 1] : tensor<8x4xf32>, tensor<f32> -> tensor<1x4xf32>
  // CHECK-NEXT: spmd.all_reduce max @mesh {"x"} %[[Y]]
  // CHECK-NEXT: return
  %0 = shoal.reduce_window max %x, %i window = [15, 1] : tensor<15x4xf32>, tensor<f32> -> tensor<1x4xf32>
  return %0 : tensor<1x4xf32>
}

// -----

shoal.mesh @mesh = <["x" = 8]>

// 4 rows from either side of shards of 3.
// CHECK-LABEL: func @wide_halo(
func.func @wide_halo(%x: tensor<1x24x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}, {}]>}, %k: tensor<9x4x4xf32>)
    -> (tensor<1x24x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}, {}]>}) {
  // CHECK: spmd.halo_exchange @mesh {"x"} %{{.*}} {dim = 1 : i64, offset = -4 : i64, size = 24 : i64, step = 3 : i64, {{.*}}} : tensor<1x3x4xf32> -> tensor<1x11x4xf32>
  // CHECK-NOT: spmd.all
  // CHECK: return
  %0 = shoal.convolution "b0f,0io->b0f" %x, %k low = [4] high = [4] : tensor<1x24x4xf32>, tensor<9x4x4xf32> -> tensor<1x24x4xf32>
  return %0 : tensor<1x24x4xf32>
}
