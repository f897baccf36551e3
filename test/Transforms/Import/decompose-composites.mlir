// RUN: shoal-opt %s --shoal-decompose-composites --split-input-file | FileCheck %s
// RUN: shoal-opt %s --shoal-decompose-composites --split-input-file --mlir-print-debuginfo | FileCheck %s --check-prefix=LOC

// A composite becomes primitives and upstream arithmetic, at its own location.

// CHECK-LABEL: func @relu_is_maximumf_so_that_nan_stays(
// CHECK-SAME: %[[X:.*]]: tensor<8x16xf32>
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<8x16xf32>
// CHECK: %[[Y:.*]] = arith.maximumf %[[X]], %[[ZERO]]
// CHECK: return %[[Y]]
// LOC: arith.maximumf {{.*}} loc(#[[RELU:.*]])
// LOC-DAG: #[[RELU]] = loc("relu")
func.func @relu_is_maximumf_so_that_nan_stays(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %y = shoal.relu %x : tensor<8x16xf32> loc("relu")
  return %y : tensor<8x16xf32>
}

// -----

// CHECK-LABEL: func @silu(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
// CHECK: %[[NEG:.*]] = arith.negf %[[X]]
// CHECK: %[[EXP:.*]] = math.exp %[[NEG]]
// CHECK: %[[ONE:.*]] = arith.constant dense<1.000000e+00>
// CHECK: %[[SUM:.*]] = arith.addf %[[EXP]], %[[ONE]]
// CHECK: arith.divf %[[X]], %[[SUM]]
func.func @silu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = shoal.silu %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: func @gelu_exact(
// CHECK: %[[SQRT_HALF:.*]] = arith.constant dense<0.707106769>
// CHECK: math.erf
// CHECK-NOT: math.tanh
func.func @gelu_exact(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = shoal.gelu %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: func @gelu_approximate(
// CHECK: arith.constant dense<4.471500e-02>
// CHECK: arith.constant dense<0.797884583>
// CHECK: math.tanh
// CHECK-NOT: math.erf
func.func @gelu_approximate(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = shoal.gelu %x {approximate} : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: func @softmax(
// CHECK-SAME: %[[X:.*]]: tensor<2x3x5xf32>
// CHECK: %[[MAX:.*]] = shoal.reduce max %[[X]] dims = [1] : tensor<2x3x5xf32> -> tensor<2x5xf32>
// CHECK: %[[MAXES:.*]] = shoal.broadcast_in_dim %[[MAX]] dims = [0, 2] : tensor<2x5xf32> -> tensor<2x3x5xf32>
// CHECK: %[[SHIFTED:.*]] = arith.subf %[[X]], %[[MAXES]]
// CHECK: %[[EXP:.*]] = math.exp %[[SHIFTED]]
// CHECK: %[[SUM:.*]] = shoal.reduce sum %[[EXP]] dims = [1]
// CHECK: %[[SUMS:.*]] = shoal.broadcast_in_dim %[[SUM]] dims = [0, 2]
// CHECK: arith.divf %[[EXP]], %[[SUMS]]
func.func @softmax(%x: tensor<2x3x5xf32>) -> tensor<2x3x5xf32> {
  %y = shoal.softmax %x {axis = 1} : tensor<2x3x5xf32>
  return %y : tensor<2x3x5xf32>
}

// -----

// bf16 computes in f32 and rounds once.
// CHECK-LABEL: func @softmax_bf16(
// CHECK: arith.extf {{.*}} tensor<5xbf16> to tensor<5xf32>
// CHECK: arith.divf {{.*}} : tensor<5xf32>
// CHECK: arith.truncf {{.*}} tensor<5xf32> to tensor<5xbf16>
// CHECK-NOT: arith.truncf
func.func @softmax_bf16(%x: tensor<5xbf16>) -> tensor<5xbf16> {
  %y = shoal.softmax %x {axis = 0} : tensor<5xbf16>
  return %y : tensor<5xbf16>
}

// -----

// Means and variances are scaled on the reduced shape.
// CHECK-LABEL: func @layer_norm(
// CHECK-SAME: %[[X:.*]]: tensor<3x4xf32>, %[[SCALE:.*]]: tensor<4xf32>, %[[BIAS:.*]]: tensor<4xf32>
// CHECK: %[[SUM:.*]] = shoal.reduce sum %[[X]] dims = [1]
// CHECK: %[[MEAN:.*]] = arith.mulf %[[SUM]], {{.*}} : tensor<3xf32>
// CHECK: %[[MEANS:.*]] = shoal.broadcast_in_dim %[[MEAN]] dims = [0]
// CHECK: %[[CENTRED:.*]] = arith.subf %[[X]], %[[MEANS]]
// CHECK: %[[SQUARES:.*]] = arith.mulf %[[CENTRED]], %[[CENTRED]]
// CHECK: shoal.reduce sum %[[SQUARES]] dims = [1]
// CHECK: math.rsqrt {{.*}} : tensor<3xf32>
// CHECK: shoal.broadcast_in_dim %[[SCALE]] dims = [1]
// CHECK: shoal.broadcast_in_dim %[[BIAS]] dims = [1]
// CHECK: arith.addf
func.func @layer_norm(%x: tensor<3x4xf32>, %scale: tensor<4xf32>, %bias: tensor<4xf32>) -> tensor<3x4xf32> {
  %y = shoal.layer_norm %x, %scale, %bias {axis = 1} : tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>
  return %y : tensor<3x4xf32>
}

// -----

// Narrow floats are rounded once, at the end.
// CHECK-LABEL: func @rms_norm(
// CHECK-SAME: %[[NARROW:.*]]: tensor<3x4xbf16>, %[[SCALE:.*]]: tensor<4xbf16>
// CHECK: %[[X:.*]] = arith.extf %[[NARROW]] : tensor<3x4xbf16> to tensor<3x4xf32>
// CHECK: %[[SQUARES:.*]] = arith.mulf %[[X]], %[[X]]
// CHECK: shoal.reduce sum %[[SQUARES]] dims = [1]
// CHECK: %[[RSQRT:.*]] = math.rsqrt {{.*}} : tensor<3xf32>
// CHECK: shoal.broadcast_in_dim %[[RSQRT]] dims = [0]
// CHECK: arith.extf %[[SCALE]]
// CHECK: %[[SCALED:.*]] = arith.mulf {{.*}} : tensor<3x4xf32>
// CHECK: arith.truncf %[[SCALED]] : tensor<3x4xf32> to tensor<3x4xbf16>
func.func @rms_norm(%x: tensor<3x4xbf16>, %scale: tensor<4xbf16>) -> tensor<3x4xbf16> {
  %y = shoal.rms_norm %x, %scale {axis = 1} : tensor<3x4xbf16>, tensor<4xbf16>
  return %y : tensor<3x4xbf16>
}

// -----

// i8 indices would wrap along 300 classes.
// CHECK-LABEL: func @one_hot_compares_in_a_type_that_the_indices_fit(
// CHECK-SAME: %[[I:.*]]: tensor<3xi8>
// CHECK: %[[WIDE:.*]] = arith.extsi %[[I]] : tensor<3xi8> to tensor<3xi32>
// CHECK-DAG: %[[INDICES:.*]] = shoal.broadcast_in_dim %[[WIDE]] dims = [1] : tensor<3xi32> -> tensor<300x3xi32>
// CHECK-DAG: %[[CLASSES:.*]] = shoal.iota dim = 0 : tensor<300x3xi32>
// CHECK: %[[MASK:.*]] = arith.cmpi eq, %[[INDICES]], %[[CLASSES]]
// CHECK: arith.uitofp %[[MASK]] : tensor<300x3xi1> to tensor<300x3xf32>
func.func @one_hot_compares_in_a_type_that_the_indices_fit(%i: tensor<3xi8>) -> tensor<300x3xf32> {
  %y = shoal.one_hot %i {dim = 0} : tensor<3xi8> -> tensor<300x3xf32>
  return %y : tensor<300x3xf32>
}

// -----

// CHECK-LABEL: func @random_counts_in_i32_up_to_two_to_the_31_elements(
// CHECK: shoal.iota dim = 1 : tensor<8x512xi32>
// CHECK: shoal.iota dim = 0 : tensor<8x512xi32>
// CHECK-NOT: i64>
// CHECK: arith.uitofp {{.*}} : tensor<8x512xi32> to tensor<8x512xf32>
// CHECK: arith.constant dense<5.96046448E-8>
func.func @random_counts_in_i32_up_to_two_to_the_31_elements(%key: tensor<2xi32>) -> tensor<8x512xf32> {
  %u = shoal.random uniform %key : tensor<2xi32> -> tensor<8x512xf32>
  return %u : tensor<8x512xf32>
}

// -----

// CHECK-LABEL: func @random_counts_in_i64_beyond(
// CHECK: shoal.iota dim = 1 : tensor<65536x65536xi64>
// CHECK: arith.shrui {{.*}} : tensor<65536x65536xi64>
// CHECK: arith.trunci {{.*}} : tensor<65536x65536xi64> to tensor<65536x65536xi32>
func.func @random_counts_in_i64_beyond(%key: tensor<2xi32>) -> tensor<65536x65536xf32> {
  %u = shoal.random uniform %key : tensor<2xi32> -> tensor<65536x65536xf32>
  return %u : tensor<65536x65536xf32>
}

// -----

// CHECK-LABEL: func @random_truncates_i64_keys(
// CHECK: arith.trunci {{.*}} : tensor<i64> to tensor<i32>
// CHECK: math.log
// CHECK: math.cos
func.func @random_truncates_i64_keys(%key: tensor<2xi64>) -> tensor<4xf32> {
  %u = shoal.random normal %key : tensor<2xi64> -> tensor<4xf32>
  return %u : tensor<4xf32>
}

// -----

// Positions count inside a group only; each choice adds one product of a
// [G, S, E] and a [G, S, C] tensor to combine, and one to dispatch.
// CHECK-LABEL: func @top_2_gating(
// CHECK-SAME: %[[GATES:.*]]: tensor<3x5x4xf32>
// CHECK: %[[V:.*]], %[[I:.*]] = shoal.top_k %[[GATES]] {k = 2 : i64}
// CHECK: %[[SUM:.*]] = shoal.reduce sum %[[V]] dims = [2]
// CHECK: %[[W0:.*]] = arith.divf {{.*}}, %[[SUM]] : tensor<3x5xf32>
// CHECK: %[[MASK0:.*]] = arith.cmpi eq, {{.*}} : tensor<3x5x4xi32>
// CHECK: %[[ONES0:.*]] = arith.extui %[[MASK0]]
// CHECK: shoal.cumulative sum %[[ONES0]] dim = 1 {exclusive}
// CHECK: %[[COUNT0:.*]] = shoal.reduce sum %[[ONES0]] dims = [1]
// CHECK: shoal.einsum "GSE,GSC->GSEC"
// CHECK: shoal.einsum "GSE,GSC->GSEC"
// CHECK: %[[ONES1:.*]] = arith.extui
// CHECK: %[[WITHIN:.*]] = shoal.cumulative sum %[[ONES1]] dim = 1 {exclusive}
// CHECK: %[[BEFORE:.*]] = shoal.broadcast_in_dim %[[COUNT0]] dims = [0, 2]
// CHECK: arith.addi %[[WITHIN]], %[[BEFORE]]
// CHECK: shoal.einsum "GSE,GSC->GSEC"
// CHECK: shoal.einsum "GSE,GSC->GSEC"
// CHECK-NOT: shoal.einsum
// CHECK-NOT: cmpf
func.func @top_2_gating(%gates: tensor<3x5x4xf32>) -> (tensor<3x5x4x2xf32>, tensor<3x5x4x2xf32>, tensor<f32>) {
  %c, %d, %aux = shoal.top_k_gating %gates {k = 2, capacity = 2}
    : tensor<3x5x4xf32> -> tensor<3x5x4x2xf32>, tensor<3x5x4x2xf32>, tensor<f32>
  return %c, %d, %aux : tensor<3x5x4x2xf32>, tensor<3x5x4x2xf32>, tensor<f32>
}

// -----

// The random numbers that the gating asks for are written out as well; the
// second choice draws from the key with its second word increased by one.
// CHECK-LABEL: func @random_routing_keeps_the_first_choice(
// CHECK: shoal.einsum
// CHECK: arith.constant dense<[0, 1]> : tensor<2xi32>
// CHECK: arith.xori
// CHECK: arith.cmpf ogt
// CHECK: arith.andi
// CHECK-NOT: arith.cmpf
// CHECK-NOT: shoal.random
func.func @random_routing_keeps_the_first_choice(%gates: tensor<3x5x4xf32>, %key: tensor<2xi32>) -> tensor<3x5x4x2xf32> {
  %c, %d, %aux = shoal.top_k_gating %gates key %key : tensor<2xi32> {k = 2, capacity = 2}
    : tensor<3x5x4xf32> -> tensor<3x5x4x2xf32>, tensor<3x5x4x2xf32>, tensor<f32>
  return %c : tensor<3x5x4x2xf32>
}
