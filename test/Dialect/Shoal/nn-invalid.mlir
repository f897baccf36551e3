// RUN: shoal-opt %s -split-input-file -verify-diagnostics

// The laws of the composites, by op in alphabetical order.

// (C1)
func.func @layer_norm_axis(%x: tensor<3x4xf32>, %s: tensor<4xf32>) {
  // expected-error@+1 {{axis: 2 is not a dimension of a tensor of rank 2}}
  %0 = shoal.layer_norm %x, %s, %s {axis = 2} : tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

// (C2)
func.func @layer_norm_bias_size(%x: tensor<3x4xf32>, %s: tensor<4xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{operand 2 dim 0: expected size 4 but got 3}}
  %0 = shoal.layer_norm %x, %s, %b {axis = 1} : tensor<3x4xf32>, tensor<4xf32>, tensor<3xf32>
  return
}

// -----

// (C2)
func.func @layer_norm_scale_type(%x: tensor<3x4xbf16>, %s: tensor<4xf32>, %b: tensor<4xbf16>) {
  // expected-error@+1 {{operand 1: expected elements of type 'bf16' but got 'f32'}}
  %0 = shoal.layer_norm %x, %s, %b {axis = 1} : tensor<3x4xbf16>, tensor<4xf32>, tensor<4xbf16>
  return
}

// -----

// (C3)
func.func @layer_norm_epsilon(%x: tensor<3x4xf32>, %s: tensor<4xf32>) {
  // expected-error@+1 {{epsilon: expected a finite number of at least 0 but got -1.000000e+00}}
  %0 = shoal.layer_norm %x, %s, %s {axis = 1, epsilon = -1.0} : tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

// (C4)
func.func @layer_norm_result(%x: tensor<3x4xf32>, %s: tensor<4xf32>) {
  // expected-error@+1 {{result 0 dim 0: expected size 3 but got 5}}
  %0 = "shoal.layer_norm"(%x, %s, %s) {axis = 1 : i64} : (tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<5x4xf32>
  return
}

// -----

// (C1)
func.func @one_hot_dim(%i: tensor<3xi32>) {
  // expected-error@+1 {{dim: 2 is not a dimension of a tensor of rank 2}}
  %0 = shoal.one_hot %i {dim = 2} : tensor<3xi32> -> tensor<3x4xf32>
  return
}

// -----

// (C1)
func.func @one_hot_shape(%i: tensor<3xi32>) {
  // expected-error@+1 {{operand 0 dim 0: expected size 4 but got 3}}
  %0 = shoal.one_hot %i {dim = 0} : tensor<3xi32> -> tensor<3x4xf32>
  return
}

// -----

// (C1)
func.func @one_hot_of_floats(%i: tensor<3xf32>) {
  // expected-error@+1 {{operand #0 must be statically shaped tensor of 64-bit signless integer}}
  %0 = shoal.one_hot %i {dim = 1} : tensor<3xf32> -> tensor<3x4xf32>
  return
}

// -----

// (C1)
func.func @rms_norm_axis(%x: tensor<3x4xf32>, %s: tensor<4xf32>) {
  // expected-error@+1 {{axis: -1 is not a dimension of a tensor of rank 2}}
  %0 = shoal.rms_norm %x, %s {axis = -1} : tensor<3x4xf32>, tensor<4xf32>
  return
}

// -----

// (C2)
func.func @rms_norm_scale_size(%x: tensor<3x4xf32>, %s: tensor<3xf32>) {
  // expected-error@+1 {{operand 1 dim 0: expected size 4 but got 3}}
  %0 = shoal.rms_norm %x, %s {axis = 1} : tensor<3x4xf32>, tensor<3xf32>
  return
}

// -----

// (C3)
func.func @rms_norm_epsilon(%x: tensor<3x4xf32>, %s: tensor<4xf32>) {
  // expected-error@+1 {{epsilon: expected a finite number of at least 0}}
  %0 = shoal.rms_norm %x, %s {axis = 1, epsilon = -1.0} : tensor<3x4xf32>, tensor<4xf32>
  return
}

// -----

// (C4)
func.func @rms_norm_result(%x: tensor<3x4xf32>, %s: tensor<4xf32>) {
  // expected-error@+1 {{result 0 dim 1: expected size 4 but got 3}}
  %0 = "shoal.rms_norm"(%x, %s) {axis = 1 : i64} : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x3xf32>
  return
}

// -----

// (C1)
func.func @softmax_axis(%x: tensor<3x4xf32>) {
  // expected-error@+1 {{axis: -1 is not a dimension of a tensor of rank 2}}
  %0 = shoal.softmax %x {axis = -1} : tensor<3x4xf32>
  return
}

// -----

// (C1)
func.func @gating_rank(%gates: tensor<6x4xf32>) {
  // expected-error@+1 {{operand 0: expected rank 3, [G, S, E], but got 2}}
  %c, %d, %aux = shoal.top_k_gating %gates {k = 2, capacity = 3} : tensor<6x4xf32> -> tensor<6x4x3xf32>, tensor<6x4x3xf32>, tensor<f32>
  return
}

// -----

// (C1)
func.func @gating_k(%gates: tensor<2x6x4xf32>) {
  // expected-error@+1 {{k: expected 1 to 4, the number of experts, but got 5}}
  %c, %d, %aux = shoal.top_k_gating %gates {k = 5, capacity = 3} : tensor<2x6x4xf32> -> tensor<2x6x4x3xf32>, tensor<2x6x4x3xf32>, tensor<f32>
  return
}

// -----

// (C1)
func.func @gating_without_experts(%gates: tensor<2x6x0xf32>) {
  // expected-error@+1 {{k: expected 1 to 0, the number of experts, but got 1}}
  %c, %d, %aux = shoal.top_k_gating %gates {k = 1, capacity_factor = 1.0} : tensor<2x6x0xf32> -> tensor<2x6x0x3xf32>, tensor<2x6x0x3xf32>, tensor<f32>
  return
}

// -----

// (C1)
func.func @gating_of_more_tokens_than_positions(%gates: tensor<2x2147483647x4xf32>) {
  // expected-error@+1 {{operand 0 dim 1: k times 2147483647 tokens are more than positions count, 2147483647}}
  %c, %d, %aux = shoal.top_k_gating %gates {k = 2, capacity = 3} : tensor<2x2147483647x4xf32> -> tensor<2x2147483647x4x3xf32>, tensor<2x2147483647x4x3xf32>, tensor<f32>
  return
}

// -----

// (C2)
func.func @gating_with_two_capacities(%gates: tensor<2x6x4xf32>) {
  // expected-error@+1 {{expected either capacity or capacity_factor but got both}}
  %c, %d, %aux = shoal.top_k_gating %gates {k = 2, capacity = 3, capacity_factor = 1.0} : tensor<2x6x4xf32> -> tensor<2x6x4x3xf32>, tensor<2x6x4x3xf32>, tensor<f32>
  return
}

// -----

// (C2)
func.func @gating_without_capacity(%gates: tensor<2x6x4xf32>) {
  // expected-error@+1 {{expected either capacity or capacity_factor but got none}}
  %c, %d, %aux = shoal.top_k_gating %gates {k = 2} : tensor<2x6x4xf32> -> tensor<2x6x4x3xf32>, tensor<2x6x4x3xf32>, tensor<f32>
  return
}

// -----

// (C2)
func.func @gating_with_no_capacity(%gates: tensor<2x6x4xf32>) {
  // expected-error@+1 {{capacity: expected 1 to 2147483647 but got 0}}
  %c, %d, %aux = shoal.top_k_gating %gates {k = 2, capacity = 0} : tensor<2x6x4xf32> -> tensor<2x6x4x0xf32>, tensor<2x6x4x0xf32>, tensor<f32>
  return
}

// -----

// (C2)
func.func @gating_with_a_boundless_factor(%gates: tensor<2x6x4xf32>) {
  // expected-error@+1 {{capacity_factor: expected a positive number that gives at most 2147483647 places but got 1.000000e+30}}
  %c, %d, %aux = shoal.top_k_gating %gates {k = 2, capacity_factor = 1.0e30} : tensor<2x6x4xf32> -> tensor<2x6x4x3xf32>, tensor<2x6x4x3xf32>, tensor<f32>
  return
}

// -----

// (C2)
func.func @gating_with_factor_nan(%gates: tensor<2x6x4xf32>) {
  // expected-error@+1 {{capacity_factor: expected a positive number}}
  %c, %d, %aux = shoal.top_k_gating %gates {k = 2, capacity_factor = 0x7FF8000000000000 : f64} : tensor<2x6x4xf32> -> tensor<2x6x4x3xf32>, tensor<2x6x4x3xf32>, tensor<f32>
  return
}

// -----

// (C2)
func.func @gating_with_a_negative_minimum(%gates: tensor<2x6x4xf32>) {
  // expected-error@+1 {{min_capacity: expected 1 to 2147483647 but got -1}}
  %c, %d, %aux = shoal.top_k_gating %gates {k = 2, capacity_factor = 1.0, min_capacity = -1} : tensor<2x6x4xf32> -> tensor<2x6x4x3xf32>, tensor<2x6x4x3xf32>, tensor<f32>
  return
}

// -----

// (C3): C = max(4, ceil(1.5 * 2 * 6 / 4)) = 5
func.func @gating_result_shape(%gates: tensor<2x6x4xf32>) {
  // expected-error@+1 {{result 1 dim 3: expected size 5 but got 4}}
  %c, %d, %aux = shoal.top_k_gating %gates {k = 2, capacity_factor = 1.5} : tensor<2x6x4xf32> -> tensor<2x6x4x5xf32>, tensor<2x6x4x4xf32>, tensor<f32>
  return
}

// -----

// (C3)
func.func @gating_loss_is_a_scalar(%gates: tensor<2x6x4xf32>) {
  // expected-error@+1 {{result 2: expected rank 0 but got 1}}
  %c, %d, %aux = shoal.top_k_gating %gates {k = 2, capacity = 3} : tensor<2x6x4xf32> -> tensor<2x6x4x3xf32>, tensor<2x6x4x3xf32>, tensor<1xf32>
  return
}

// -----

// (C4)
func.func @gating_key(%gates: tensor<2x6x4xf32>, %key: tensor<4xi32>) {
  // expected-error@+1 {{operand 1 dim 0: expected size 2 but got 4}}
  %c, %d, %aux = shoal.top_k_gating %gates key %key : tensor<4xi32> {k = 2, capacity = 3} : tensor<2x6x4xf32> -> tensor<2x6x4x3xf32>, tensor<2x6x4x3xf32>, tensor<f32>
  return
}
