// RUN: shoal-opt %s --shoal-fuse-epilogues --split-input-file --verify-diagnostics | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#last = affine_map<(d0, d1) -> (d1)>
#none = affine_map<(d0, d1) -> ()>

// Two scales, a bias and relu.
// CHECK-LABEL: func.func @scales_bias_and_relu
// CHECK: %[[Y:.*]] = rt.einsum "ac,cb->ab"
// CHECK-SAME: ins(%arg0, %arg1 : {{.*}} scales(%arg2, %arg3 : {{.*}} bias "b"(%arg4 : {{.*}} activation relu
// CHECK-NOT: linalg
// CHECK: return %[[Y]]
func.func @scales_bias_and_relu(%x: tensor<32x16xf8E4M3FN>, %w: tensor<16x48xf8E5M2>, %a: tensor<f32>, %b: tensor<f32>,
                                %c: tensor<48xf32>) -> tensor<32x48xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<32x48xf32>
  %1 = rt.einsum "ac,cb->ab"
         ins(%x, %w : tensor<32x16xf8E4M3FN>, tensor<16x48xf8E5M2>) outs(%0 : tensor<32x48xf32>) -> tensor<32x48xf32>
  %2 = linalg.generic {indexing_maps = [#id, #none, #none, #last, #id], iterator_types = ["parallel", "parallel"]}
      ins(%1, %a, %b, %c : tensor<32x48xf32>, tensor<f32>, tensor<f32>, tensor<48xf32>) outs(%0 : tensor<32x48xf32>) {
  ^bb0(%p: f32, %q: f32, %r: f32, %s: f32, %out: f32):
    %3 = arith.mulf %p, %q : f32
    %4 = arith.mulf %r, %3 : f32
    %5 = arith.addf %4, %s : f32
    %6 = arith.maximumf %5, %zero : f32
    linalg.yield %6 : f32
  } -> tensor<32x48xf32>
  return %2 : tensor<32x48xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#none = affine_map<(d0, d1) -> ()>

// One factor of two scales, in bf16, and what follows stays behind.
// CHECK-LABEL: func.func @product_of_scales
// CHECK: %[[S:.*]] = linalg.generic
// CHECK: ^bb0(%[[A:.*]]: bf16, %[[B:.*]]: bf16, %{{.*}}: f32):
// CHECK: %[[AB:.*]] = arith.mulf %[[A]], %[[B]] : bf16
// CHECK: arith.extf %[[AB]] : bf16 to f32
// CHECK: rt.einsum {{.*}} scales(%[[S]] : tensor<f32>) outs(
// CHECK: math.exp
func.func @product_of_scales(%x: tensor<32x16xf8E4M3FN>, %w: tensor<16x48xf8E4M3FN>, %a: tensor<bf16>, %b: tensor<1x1xbf16>)
    -> tensor<32x48xbf16> {
  %0 = tensor.empty() : tensor<32x48xbf16>
  %1 = rt.einsum "ac,cb->ab"
         ins(%x, %w : tensor<32x16xf8E4M3FN>, tensor<16x48xf8E4M3FN>) outs(%0 : tensor<32x48xbf16>) -> tensor<32x48xbf16>
  %2 = linalg.generic {indexing_maps = [#id, #none, affine_map<(d0, d1) -> (0, 0)>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%1, %a, %b : tensor<32x48xbf16>, tensor<bf16>, tensor<1x1xbf16>) outs(%0 : tensor<32x48xbf16>) {
  ^bb0(%p: bf16, %q: bf16, %r: bf16, %out: bf16):
    %3 = arith.mulf %q, %r : bf16
    %4 = arith.mulf %p, %3 : bf16
    %5 = math.exp %4 : bf16
    linalg.yield %5 : bf16
  } -> tensor<32x48xbf16>
  return %2 : tensor<32x48xbf16>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#none = affine_map<(d0, d1) -> ()>

// Operands that the program converts and scales before the product.
// CHECK-LABEL: func.func @dequantized_operands
// CHECK-SAME: %[[X:.*]]: tensor<32x16xf8E4M3FN>, %[[W:.*]]: tensor<16x48xf8E4M3FN>, %[[A:.*]]: tensor<f32>
// CHECK-NOT: linalg
// CHECK: rt.einsum
// CHECK-SAME: ins(%[[X]], %[[W]] : {{.*}} scales(%[[A]] :
func.func @dequantized_operands(%x: tensor<32x16xf8E4M3FN>, %w: tensor<16x48xf8E4M3FN>, %a: tensor<f32>)
    -> tensor<32x48xf32> {
  %0 = tensor.empty() : tensor<32x48xf32>
  %1 = tensor.empty() : tensor<32x16xf32>
  %2 = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %a : tensor<32x16xf8E4M3FN>, tensor<f32>) outs(%1 : tensor<32x16xf32>) {
  ^bb0(%p: f8E4M3FN, %q: f32, %out: f32):
    %3 = arith.extf %p : f8E4M3FN to f32
    %4 = arith.mulf %3, %q : f32
    linalg.yield %4 : f32
  } -> tensor<32x16xf32>
  %5 = tensor.empty() : tensor<16x48xf32>
  %6 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<16x48xf8E4M3FN>) outs(%5 : tensor<16x48xf32>) {
  ^bb0(%p: f8E4M3FN, %out: f32):
    %3 = arith.extf %p : f8E4M3FN to f32
    linalg.yield %3 : f32
  } -> tensor<16x48xf32>
  %7 = rt.einsum "ac,cb->ab"
         ins(%2, %6 : tensor<32x16xf32>, tensor<16x48xf32>) outs(%0 : tensor<32x48xf32>) -> tensor<32x48xf32>
  return %7 : tensor<32x48xf32>
}

// -----

// What cuBLASLt does not multiply is said.
func.func @obstacles(%x: tensor<32x16xf8E5M2>, %w: tensor<16x48xf8E5M2>, %u: tensor<32x20xf8E4M3FN>, %v: tensor<20x48xf8E5M2>)
    -> (tensor<32x48xf32>, tensor<32x48xf32>) {
  %0 = tensor.empty() : tensor<32x48xf32>
  // expected-remark @+1 {{a product of f8 by floats of 16 bits, not by cuBLASLt's of 8 bits: both operands are f8E5M2}}
  %1 = rt.einsum "ac,cb->ab"
         ins(%x, %w : tensor<32x16xf8E5M2>, tensor<16x48xf8E5M2>) outs(%0 : tensor<32x48xf32>) -> tensor<32x48xf32>
  // expected-remark @+1 {{sums: 20 is not a multiple of 16}}
  %2 = rt.einsum "ac,cb->ab"
         ins(%u, %v : tensor<32x20xf8E4M3FN>, tensor<20x48xf8E5M2>) outs(%0 : tensor<32x48xf32>) -> tensor<32x48xf32>
  return %1, %2 : tensor<32x48xf32>, tensor<32x48xf32>
}
