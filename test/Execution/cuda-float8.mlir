// Products of f8 for the emulated device: operands as they are, with scales,
// a bias and an activation, of both kinds, in all orders of dimensions, with
// batches, and those that cuBLASLt does not take.
// test/python/compiler/test_cuda_execution.py compares the values.
//
// RUN: shoal-opt %s --shoal-decompose-composites --shoal-lower-to-cuda 2>&1 | FileCheck %s

// CHECK-DAG: remark: a product of f8 by floats of 16 bits, not by cuBLASLt's of 8 bits: sums: 100 is not a multiple of 16
// CHECK-DAG: remark: {{.*}}: both operands are f8E5M2
// CHECK-DAG: rt.einsum {{.*}} scales(%{{.*}}, %{{.*}} : {{.*}} bias "k"({{.*}} activation relu
// CHECK-DAG: rt.einsum {{.*}}f8E4M3FN>, {{.*}}f8E5M2>) scales({{.*}} activation gelu outs({{.*}}bf16>)
// CHECK-DAG: rt.einsum {{.*}}f8E5M2>, {{.*}}f8E4M3FN>) scales({{[^)]*}}) outs(
// CHECK-DAG: rt.einsum {{.*}}f8E4M3FN>) outs({{.*}}f16>
// CHECK-DAG: rt.einsum {{.*}}f8E4M3FN>) outs({{.*}}f32>
func.func @f(%x: tensor<64x128xf8E4M3FN>, %w: tensor<128x96xf8E4M3FN>, %a: tensor<f32>, %b: tensor<f32>, %c: tensor<96xf32>,
             %u: tensor<96x128xf8E5M2>, %e: tensor<3x64x128xf8E4M3FN>, %v: tensor<3x128x96xf8E5M2>,
             %odd: tensor<64x100xf8E4M3FN>, %even: tensor<100x96xf8E4M3FN>)
    -> (tensor<64x96xf32>, tensor<64x96xbf16>, tensor<3x64x96xf32>, tensor<64x96xf16>, tensor<64x64xf32>,
        tensor<96x64xf32>, tensor<64x96xf32>, tensor<128x128xf32>, tensor<3x96x64xbf16>) {
  // Operands' scales behind the product; a bias of f32, which a kernel adds.
  %xw = shoal.einsum "ij,jk->ik" %x, %w : (tensor<64x128xf8E4M3FN>, tensor<128x96xf8E4M3FN>) -> tensor<64x96xf32>
  %as = shoal.broadcast_in_dim %a dims = [] : tensor<f32> -> tensor<64x96xf32>
  %bs = shoal.broadcast_in_dim %b dims = [] : tensor<f32> -> tensor<64x96xf32>
  %cs = shoal.broadcast_in_dim %c dims = [1] : tensor<96xf32> -> tensor<64x96xf32>
  %s0 = arith.mulf %xw, %as : tensor<64x96xf32>
  %s1 = arith.mulf %s0, %bs : tensor<64x96xf32>
  %s2 = arith.addf %s1, %cs : tensor<64x96xf32>
  %y0 = shoal.relu %s2 : tensor<64x96xf32>
  // A constant factor, then gelu, of a second operand that is transposed.
  %xu = shoal.einsum "ij,kj->ik" %x, %u : (tensor<64x128xf8E4M3FN>, tensor<96x128xf8E5M2>) -> tensor<64x96xbf16>
  %eighth = arith.constant dense<0.125> : tensor<64x96xbf16>
  %s3 = arith.mulf %eighth, %xu : tensor<64x96xbf16>
  %y1 = shoal.gelu %s3 {approximate} : tensor<64x96xbf16>
  // Batches whose operands are converted and scaled in front.
  %e32 = arith.extf %e : tensor<3x64x128xf8E4M3FN> to tensor<3x64x128xf32>
  %ae = shoal.broadcast_in_dim %a dims = [] : tensor<f32> -> tensor<3x64x128xf32>
  %es = arith.mulf %e32, %ae : tensor<3x64x128xf32>
  %v32 = arith.extf %v : tensor<3x128x96xf8E5M2> to tensor<3x128x96xf32>
  %bv = shoal.broadcast_in_dim %b dims = [] : tensor<f32> -> tensor<3x128x96xf32>
  %vs = arith.mulf %v32, %bv : tensor<3x128x96xf32>
  %y2 = shoal.einsum "ejb,eij->eib" %vs, %es : (tensor<3x128x96xf32>, tensor<3x64x128xf32>) -> tensor<3x64x96xf32>
  %y3 = shoal.einsum "ij,jk->ik" %x, %w : (tensor<64x128xf8E4M3FN>, tensor<128x96xf8E4M3FN>) -> tensor<64x96xf16>
  %y4 = shoal.einsum "ij,kj->ik" %x, %x : (tensor<64x128xf8E4M3FN>, tensor<64x128xf8E4M3FN>) -> tensor<64x64xf32>
  %y5 = shoal.einsum "jk,ij->ki" %w, %x : (tensor<128x96xf8E4M3FN>, tensor<64x128xf8E4M3FN>) -> tensor<96x64xf32>
  // Not for cuBLASLt.
  %oe = shoal.einsum "ij,jk->ik" %odd, %even : (tensor<64x100xf8E4M3FN>, tensor<100x96xf8E4M3FN>) -> tensor<64x96xf32>
  %y6 = arith.mulf %oe, %as : tensor<64x96xf32>
  %y7 = shoal.einsum "ki,kj->ij" %u, %u : (tensor<96x128xf8E5M2>, tensor<96x128xf8E5M2>) -> tensor<128x128xf32>
  %ev = shoal.einsum "eij,ejk->eki" %e, %v : (tensor<3x64x128xf8E4M3FN>, tensor<3x128x96xf8E5M2>) -> tensor<3x96x64xbf16>
  return %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7, %ev
      : tensor<64x96xf32>, tensor<64x96xbf16>, tensor<3x64x96xf32>, tensor<64x96xf16>, tensor<64x64xf32>,
        tensor<96x64xf32>, tensor<64x96xf32>, tensor<128x128xf32>, tensor<3x96x64xbf16>
}
