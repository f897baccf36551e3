// A layer of experts on 4 devices with a shared expert, which every token goes
// through: it is computed while tokens travel to their experts, and so are the
// weights of the combination. test/python/compiler/test_cuda_execution.py compares the
// values.
//
// RUN: shoalc %s --emit=spmd -o %t.mlir
// RUN: shoal-opt %t.mlir --shoal-decompose-composites --shoal-lower-to-cuda | FileCheck %s

// CHECK-NOT: memref<1x1024x8x256xf32>
// CHECK: rt.all_to_all{{.*}}collective = 0
// CHECK-NOT: rt.wait
// CHECK: rt.launch {{.*}}outs({{.*}} : memref<1x1024xi1>)
// CHECK-NOT: rt.wait
// CHECK: rt.einsum {{.*}} ins(%arg0, %arg4 {{.*}} activation
// CHECK-NOT: rt.wait
// CHECK: rt.einsum {{.*}}, %arg5
// CHECK: rt.wait 0
// CHECK: rt.einsum {{.*}}, %arg2 {{.*}} activation
// CHECK: rt.all_to_all{{.*}}collective = 1
// CHECK: rt.wait 1

shoal.mesh @mesh = <["expert" = 4]>

func.func @main(%x: tensor<4x1024x32xf32>, %wg: tensor<32x8xf32>, %wi: tensor<8x32x64xf32>, %wo: tensor<8x64x32xf32>,
                %vi: tensor<32x128xf32>, %vo: tensor<128x32xf32>) -> tensor<4x1024x32xf32> {
  %xs = shoal.split %x {dim = 0, num_partitions = 4} : tensor<4x1024x32xf32>
  %logits = shoal.einsum "GSM,ME->GSE" %xs, %wg : (tensor<4x1024x32xf32>, tensor<32x8xf32>) -> tensor<4x1024x8xf32>
  %gates = shoal.softmax %logits {axis = 2} : tensor<4x1024x8xf32>
  %combine, %dispatch, %aux = shoal.top_k_gating %gates {k = 2, capacity = 256}
      : tensor<4x1024x8xf32> -> tensor<4x1024x8x256xf32>, tensor<4x1024x8x256xf32>, tensor<f32>
  %d0 = shoal.einsum "GSEC,GSM->EGCM" %dispatch, %xs
      : (tensor<4x1024x8x256xf32>, tensor<4x1024x32xf32>) -> tensor<8x4x256x32xf32>
  %d = shoal.split %d0 {dim = 0, num_partitions = 4} : tensor<8x4x256x32xf32>
  %h0 = shoal.einsum "EGCM,EMH->EGCH" %d, %wi : (tensor<8x4x256x32xf32>, tensor<8x32x64xf32>) -> tensor<8x4x256x64xf32>
  %h = shoal.relu %h0 : tensor<8x4x256x64xf32>
  %e0 = shoal.einsum "EGCH,EHM->GECM" %h, %wo : (tensor<8x4x256x64xf32>, tensor<8x64x32xf32>) -> tensor<4x8x256x32xf32>
  %e = shoal.split %e0 {dim = 0, num_partitions = 4} : tensor<4x8x256x32xf32>
  %routed = shoal.einsum "GSEC,GECM->GSM" %combine, %e
      : (tensor<4x1024x8x256xf32>, tensor<4x8x256x32xf32>) -> tensor<4x1024x32xf32>
  %s0 = shoal.einsum "GSM,MH->GSH" %xs, %vi : (tensor<4x1024x32xf32>, tensor<32x128xf32>) -> tensor<4x1024x128xf32>
  %s = shoal.relu %s0 : tensor<4x1024x128xf32>
  %shared = shoal.einsum "GSH,HM->GSM" %s, %vo : (tensor<4x1024x128xf32>, tensor<128x32xf32>) -> tensor<4x1024x32xf32>
  %y = arith.addf %routed, %shared : tensor<4x1024x32xf32>
  return %y : tensor<4x1024x32xf32>
}
