// RUN: shoal-opt %s --shoal-fuse-epilogues --split-input-file | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#last = affine_map<(d0, d1) -> (d1)>

// CHECK-LABEL: func.func @bias_and_relu
// CHECK: %[[Y:.*]] = rt.einsum "ac,cb->ab"
// CHECK-SAME: ins(%arg0, %arg1 : {{.*}} bias "b"(%arg2 : tensor<12xf32>) activation relu outs(
// CHECK-NOT: linalg
// CHECK: return %[[Y]]
func.func @bias_and_relu(%x: tensor<8x16xf32>, %w: tensor<16x12xf32>, %b: tensor<12xf32>) -> tensor<8x12xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<8x12xf32>
  %1 = rt.einsum "ac,cb->ab"
         ins(%x, %w : tensor<8x16xf32>, tensor<16x12xf32>) outs(%0 : tensor<8x12xf32>) -> tensor<8x12xf32>
  %2 = linalg.generic {indexing_maps = [#id, #last, #id], iterator_types = ["parallel", "parallel"]}
      ins(%1, %b : tensor<8x12xf32>, tensor<12xf32>) outs(%0 : tensor<8x12xf32>) {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %s = arith.addf %q, %p : f32
    %r = arith.maximumf %s, %zero : f32
    linalg.yield %r : f32
  } -> tensor<8x12xf32>
  return %2 : tensor<8x12xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>

// As jax.nn.gelu writes it: x times half of what the tanh is, the cube as a
// power of a power; in bf16 its constants are rounded.
// CHECK-LABEL: func.func @gelu_of_bf16
// CHECK: rt.einsum {{.*}} activation gelu outs(
// CHECK-NOT: linalg
// CHECK: return
func.func @gelu_of_bf16(%x: tensor<8x16xbf16>, %w: tensor<16x12xbf16>) -> tensor<8x12xbf16> {
  %one = arith.constant 1.0 : bf16
  %half = arith.constant 0.5 : bf16
  %scale = arith.constant 7.968750e-01 : bf16
  %cubic = arith.constant 4.467770e-02 : bf16
  %0 = tensor.empty() : tensor<8x12xbf16>
  %1 = rt.einsum "ac,cb->ab"
         ins(%x, %w : tensor<8x16xbf16>, tensor<16x12xbf16>) outs(%0 : tensor<8x12xbf16>) -> tensor<8x12xbf16>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%1 : tensor<8x12xbf16>) outs(%0 : tensor<8x12xbf16>) {
  ^bb0(%p: bf16, %out: bf16):
    %square = arith.mulf %p, %p : bf16
    %cube = arith.mulf %p, %square : bf16
    %c = arith.mulf %cubic, %cube : bf16
    %i = arith.addf %p, %c : bf16
    %inner = arith.mulf %scale, %i : bf16
    %tanh = math.tanh %inner : bf16
    %t = arith.addf %one, %tanh : bf16
    %cdf = arith.mulf %half, %t : bf16
    %g = arith.mulf %p, %cdf : bf16
    linalg.yield %g : bf16
  } -> tensor<8x12xbf16>
  return %2 : tensor<8x12xbf16>
}

// -----

#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#experts = affine_map<(d0, d1, d2) -> (d0, d2)>

// A bias of each expert; what follows the activation stays.
// CHECK-LABEL: func.func @experts
// CHECK: %[[Y:.*]] = rt.einsum {{.*}} bias "ac"(%arg2 : tensor<4x12xf32>) activation relu
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[Y]]
// CHECK: ^bb0(%[[IN:[a-z]+]]: f32, %{{[a-z]+}}: f32):
// CHECK-NEXT: %[[SCALED:.*]] = arith.mulf %[[IN]], %{{.*}} : f32
// CHECK-NEXT: linalg.yield %[[SCALED]]
func.func @experts(%x: tensor<4x8x16xf32>, %w: tensor<4x16x12xf32>, %b: tensor<4x12xf32>) -> tensor<4x8x12xf32> {
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  %0 = tensor.empty() : tensor<4x8x12xf32>
  %1 = rt.einsum "abd,adc->abc"
         ins(%x, %w : tensor<4x8x16xf32>, tensor<4x16x12xf32>) outs(%0 : tensor<4x8x12xf32>) -> tensor<4x8x12xf32>
  %2 = linalg.generic {indexing_maps = [#id, #experts, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%1, %b : tensor<4x8x12xf32>, tensor<4x12xf32>) outs(%0 : tensor<4x8x12xf32>) {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %s = arith.addf %p, %q : f32
    %r = arith.maximumf %zero, %s : f32
    %t = arith.mulf %r, %two : f32
    linalg.yield %t : f32
  } -> tensor<4x8x12xf32>
  return %2 : tensor<4x8x12xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#first = affine_map<(d0, d1) -> (d0)>

// Not fused: the sum before the relu is read again; a bias along rows; a function
// by erf.
// CHECK-NOT: {{bias|activation}}
func.func @kept(%x: tensor<8x16xf32>, %w: tensor<16x12xf32>, %b: tensor<8xf32>)
    -> (tensor<8x12xf32>, tensor<8x12xf32>, tensor<8x12xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<8x12xf32>
  %1 = rt.einsum "ac,cb->ab"
         ins(%x, %w : tensor<8x16xf32>, tensor<16x12xf32>) outs(%0 : tensor<8x12xf32>) -> tensor<8x12xf32>
  %2:2 = linalg.generic {indexing_maps = [#id, #first, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%1, %b : tensor<8x12xf32>, tensor<8xf32>) outs(%0, %0 : tensor<8x12xf32>, tensor<8x12xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32, %o2: f32):
    %s = arith.addf %p, %q : f32
    %r = arith.maximumf %s, %zero : f32
    linalg.yield %r, %s : f32, f32
  } -> (tensor<8x12xf32>, tensor<8x12xf32>)
  %3 = rt.einsum "ac,cb->ab"
         ins(%x, %w : tensor<8x16xf32>, tensor<16x12xf32>) outs(%0 : tensor<8x12xf32>) -> tensor<8x12xf32>
  %4 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%3 : tensor<8x12xf32>) outs(%0 : tensor<8x12xf32>) {
  ^bb0(%p: f32, %o: f32):
    %r = math.erf %p : f32
    linalg.yield %r : f32
  } -> tensor<8x12xf32>
  return %2#0, %2#1, %4 : tensor<8x12xf32>, tensor<8x12xf32>, tensor<8x12xf32>
}
