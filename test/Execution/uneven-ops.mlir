// RUN: shoal-run %s --random-inputs=3 --compare | FileCheck %s

// Every op with a dimension that 4 devices do not divide: padding reaches no
// result.
// CHECK-NOT: too far apart
// CHECK: result36: {{.*}}: ok

shoal.mesh @mesh = <["x" = 4]>

func.func @main(
    %reduce_sum_a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %reduce_prod_a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %reduce_max_a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %reduce_min_a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %reduce_and_a: tensor<7x5xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %reduce_or_a: tensor<7x5xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %cumulative_0__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %cumulative_0_exclusive_a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %cumulative_0_reverse_a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %cumulative_0_exclusive_reverse_a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %cumulative_1__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %cumulative_1_exclusive_a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %cumulative_1_reverse_a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %cumulative_1_exclusive_reverse_a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %broadcast_a: tensor<5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>},
    %broadcast_one_a: tensor<1x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
    %slice_a: tensor<9x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %slice_other_a: tensor<9x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %pad_a: tensor<5x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}, %pad_v: tensor<f32>,
    %concatenate_a: tensor<5x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}, %concatenate_b: tensor<2x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
    %concatenate_other_a: tensor<5x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}, %concatenate_other_b: tensor<5x2xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %reshape_split_a: tensor<12x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %reshape_uneven_a: tensor<10x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %reshape_merge_a: tensor<5x2x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}, {}]>},
    %topk_a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %topk_dim_a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
    %softmax_a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
    %layernorm_a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>}, %layernorm_s: tensor<5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}, %layernorm_b: tensor<5xf32>,
    %random_k: tensor<2xi32>,
    %onehot_i: tensor<7xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>},
    %trace_a: tensor<5x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %diag_a: tensor<5x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>},
        tensor<5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>},
        tensor<5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>},
        tensor<5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>},
        tensor<5xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>},
        tensor<5xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>},
        tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
        tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
        tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
        tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
        tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
        tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
        tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
        tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
        tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
        tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
        tensor<7x5xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}, tensor<7x5xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
        tensor<4x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
        tensor<9x2xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
        tensor<12x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
        tensor<7x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
        tensor<5x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
        tensor<4x3x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}, {}]>},
        tensor<5x2x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}, {}]>},
        tensor<10x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
        tensor<7x2xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}, tensor<7x2xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
        tensor<7x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>}, tensor<7x3xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
        tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
        tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
        tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
        tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
        tensor<7xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>},
        tensor<f32> {shoal.sharding = #shoal.sharding<@mesh, []>},
        tensor<5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}) {
  %reduce_sum_0 = shoal.reduce sum %reduce_sum_a dims = [0] : tensor<7x5xf32> -> tensor<5xf32>
  %reduce_prod_0 = shoal.reduce prod %reduce_prod_a dims = [0] : tensor<7x5xf32> -> tensor<5xf32>
  %reduce_max_0 = shoal.reduce max %reduce_max_a dims = [0] : tensor<7x5xf32> -> tensor<5xf32>
  %reduce_min_0 = shoal.reduce min %reduce_min_a dims = [0] : tensor<7x5xf32> -> tensor<5xf32>
  %reduce_and_0 = shoal.reduce and %reduce_and_a dims = [0] : tensor<7x5xi32> -> tensor<5xi32>
  %reduce_or_0 = shoal.reduce or %reduce_or_a dims = [0] : tensor<7x5xi32> -> tensor<5xi32>
  %cumulative_0__0 = shoal.cumulative sum %cumulative_0__a dim = 0  : tensor<7x5xf32>
  %cumulative_0_exclusive_0 = shoal.cumulative sum %cumulative_0_exclusive_a dim = 0 {exclusive} : tensor<7x5xf32>
  %cumulative_0_reverse_0 = shoal.cumulative sum %cumulative_0_reverse_a dim = 0 {reverse} : tensor<7x5xf32>
  %cumulative_0_exclusive_reverse_0 = shoal.cumulative sum %cumulative_0_exclusive_reverse_a dim = 0 {exclusive, reverse} : tensor<7x5xf32>
  %cumulative_1__0 = shoal.cumulative sum %cumulative_1__a dim = 1  : tensor<7x5xf32>
  %cumulative_1_exclusive_0 = shoal.cumulative sum %cumulative_1_exclusive_a dim = 1 {exclusive} : tensor<7x5xf32>
  %cumulative_1_reverse_0 = shoal.cumulative sum %cumulative_1_reverse_a dim = 1 {reverse} : tensor<7x5xf32>
  %cumulative_1_exclusive_reverse_0 = shoal.cumulative sum %cumulative_1_exclusive_reverse_a dim = 1 {exclusive, reverse} : tensor<7x5xf32>
  %broadcast_0 = shoal.broadcast_in_dim %broadcast_a dims = [1] : tensor<5xf32> -> tensor<7x5xf32>
  %broadcast_one_0 = shoal.broadcast_in_dim %broadcast_one_a dims = [0, 1] : tensor<1x5xf32> -> tensor<7x5xf32>
  %iota_0 = shoal.iota dim = 0 : tensor<7x5xi32>
  %iota_1 = shoal.iota dim = 1 : tensor<7x5xi32>
  %slice_0 = shoal.slice %slice_a starts = [1, 0] limits = [8, 5] strides = [2, 1] : tensor<9x5xf32> -> tensor<4x5xf32>
  %slice_other_0 = shoal.slice %slice_other_a starts = [0, 1] limits = [9, 4] strides = [1, 2] : tensor<9x5xf32> -> tensor<9x2xf32>
  %pad_0 = shoal.pad %pad_a, %pad_v low = [1, 0] high = [2, 1] interior = [1, 0] : tensor<5x3xf32>, tensor<f32> -> tensor<12x4xf32>
  %concatenate_0 = shoal.concatenate %concatenate_a, %concatenate_b dim = 0 : (tensor<5x3xf32>, tensor<2x3xf32>) -> tensor<7x3xf32>
  %concatenate_other_0 = shoal.concatenate %concatenate_other_a, %concatenate_other_b dim = 1 : (tensor<5x3xf32>, tensor<5x2xf32>) -> tensor<5x5xf32>
  %reshape_split_0 = shoal.reshape %reshape_split_a : tensor<12x5xf32> -> tensor<4x3x5xf32>
  %reshape_uneven_0 = shoal.reshape %reshape_uneven_a : tensor<10x5xf32> -> tensor<5x2x5xf32>
  %reshape_merge_0 = shoal.reshape %reshape_merge_a : tensor<5x2x5xf32> -> tensor<10x5xf32>
  %topk_0, %topk_1 = shoal.top_k %topk_a {k = 2} : tensor<7x5xf32> -> tensor<7x2xf32>, tensor<7x2xi32>
  %topk_dim_0, %topk_dim_1 = shoal.top_k %topk_dim_a {k = 3} : tensor<7x5xf32> -> tensor<7x3xf32>, tensor<7x3xi32>
  %softmax_0 = shoal.softmax %softmax_a {axis = 1} : tensor<7x5xf32>
  %layernorm_0 = shoal.layer_norm %layernorm_a, %layernorm_s, %layernorm_b {axis = 1} : tensor<7x5xf32>, tensor<5xf32>, tensor<5xf32>
  %random_0 = shoal.random normal %random_k : tensor<2xi32> -> tensor<7x5xf32>
  %onehot_0 = shoal.one_hot %onehot_i {dim = 1} : tensor<7xi32> -> tensor<7x5xf32>
  %constant_0 = arith.constant dense<[0.,1.,2.,3.,4.,5.,6.]> : tensor<7xf32>
  %trace_0 = shoal.einsum "ii->" %trace_a : (tensor<5x5xf32>) -> tensor<f32>
  %diag_0 = shoal.einsum "ii->i" %diag_a : (tensor<5x5xf32>) -> tensor<5xf32>
  return %reduce_sum_0,
    %reduce_prod_0,
    %reduce_max_0,
    %reduce_min_0,
    %reduce_and_0,
    %reduce_or_0,
    %cumulative_0__0,
    %cumulative_0_exclusive_0,
    %cumulative_0_reverse_0,
    %cumulative_0_exclusive_reverse_0,
    %cumulative_1__0,
    %cumulative_1_exclusive_0,
    %cumulative_1_reverse_0,
    %cumulative_1_exclusive_reverse_0,
    %broadcast_0,
    %broadcast_one_0,
    %iota_0, %iota_1,
    %slice_0,
    %slice_other_0,
    %pad_0,
    %concatenate_0,
    %concatenate_other_0,
    %reshape_split_0,
    %reshape_uneven_0,
    %reshape_merge_0,
    %topk_0, %topk_1,
    %topk_dim_0, %topk_dim_1,
    %softmax_0,
    %layernorm_0,
    %random_0,
    %onehot_0,
    %constant_0,
    %trace_0,
    %diag_0
    : tensor<5xf32>,
      tensor<5xf32>,
      tensor<5xf32>,
      tensor<5xf32>,
      tensor<5xi32>,
      tensor<5xi32>,
      tensor<7x5xf32>,
      tensor<7x5xf32>,
      tensor<7x5xf32>,
      tensor<7x5xf32>,
      tensor<7x5xf32>,
      tensor<7x5xf32>,
      tensor<7x5xf32>,
      tensor<7x5xf32>,
      tensor<7x5xf32>,
      tensor<7x5xf32>,
      tensor<7x5xi32>, tensor<7x5xi32>,
      tensor<4x5xf32>,
      tensor<9x2xf32>,
      tensor<12x4xf32>,
      tensor<7x3xf32>,
      tensor<5x5xf32>,
      tensor<4x3x5xf32>,
      tensor<5x2x5xf32>,
      tensor<10x5xf32>,
      tensor<7x2xf32>, tensor<7x2xi32>,
      tensor<7x3xf32>, tensor<7x3xi32>,
      tensor<7x5xf32>,
      tensor<7x5xf32>,
      tensor<7x5xf32>,
      tensor<7x5xf32>,
      tensor<7xf32>,
      tensor<f32>,
      tensor<5xf32>
}
