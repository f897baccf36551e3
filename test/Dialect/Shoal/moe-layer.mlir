// RUN: shoal-opt %s | shoal-opt | FileCheck %s

// GShard's Algorithm 2: the layer as a person writes it.

// CHECK: shoal.mesh @mesh = <["expert" = 8]>
shoal.mesh @mesh = <["expert" = 8]>

// CHECK-LABEL: func @moe_layer(
// CHECK-SAME: shoal.name = "x"
// CHECK-COUNT-3: shoal.split
func.func @moe_layer(%x: tensor<8x512x256xf32> {shoal.name = "x"}, %wg: tensor<256x8xf32>,
                     %wi: tensor<8x256x1024xf32>, %wo: tensor<8x1024x256xf32>)
    -> (tensor<8x512x256xf32>, tensor<f32>) {
  %xs    = shoal.split %x {dim = 0, num_partitions = 8} : tensor<8x512x256xf32>
  %wgr   = shoal.replicate %wg : tensor<256x8xf32>
  %logit = shoal.einsum "GSM,ME->GSE" %xs, %wgr
         : (tensor<8x512x256xf32>, tensor<256x8xf32>) -> tensor<8x512x8xf32>
  %gates = shoal.softmax %logit {axis = 2} : tensor<8x512x8xf32>
  %combine, %dispatch, %aux = shoal.top_k_gating %gates {k = 2, capacity = 128}
         : tensor<8x512x8xf32> -> tensor<8x512x8x128xf32>, tensor<8x512x8x128xf32>, tensor<f32>
  %d0    = shoal.einsum "GSEC,GSM->EGCM" %dispatch, %xs
         : (tensor<8x512x8x128xf32>, tensor<8x512x256xf32>) -> tensor<8x8x128x256xf32>
  %d     = shoal.split %d0 {dim = 0, num_partitions = 8} : tensor<8x8x128x256xf32>
  %h0    = shoal.einsum "EGCM,EMH->EGCH" %d, %wi
         : (tensor<8x8x128x256xf32>, tensor<8x256x1024xf32>) -> tensor<8x8x128x1024xf32>
  %h     = shoal.relu %h0 : tensor<8x8x128x1024xf32>
  %e     = shoal.einsum "EGCH,EHM->GECM" %h, %wo
         : (tensor<8x8x128x1024xf32>, tensor<8x1024x256xf32>) -> tensor<8x8x128x256xf32>
  %es    = shoal.split %e {dim = 0, num_partitions = 8} : tensor<8x8x128x256xf32>
  %y     = shoal.einsum "GSEC,GECM->GSM" %combine, %es
         : (tensor<8x512x8x128xf32>, tensor<8x8x128x256xf32>) -> tensor<8x512x256xf32>
  return %y, %aux : tensor<8x512x256xf32>, tensor<f32>
}
