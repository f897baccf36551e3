// GShard, Algorithm 2: one axis, experts and groups split over it. Two
// all_to_alls, an all_reduce of the scalar loss, nothing else.
//
// RUN: shoal-opt %s --shoal-partition | FileCheck %s

// CHECK-NOT: spmd.all_{{reduce|gather|to_all}}
// CHECK-NOT: spmd.{{reduce_scatter|collective_permute}}
// CHECK: spmd.all_to_all @mesh [{"expert"} : 1 -> 0] {{.*}} : tensor<8x1x128x256xf32> -> tensor<1x8x128x256xf32>
// CHECK-NOT: spmd.all_
// CHECK: spmd.all_to_all @mesh [{"expert"} : 1 -> 0] {{.*}} : tensor<8x1x128x256xf32> -> tensor<1x8x128x256xf32>
// CHECK-NOT: spmd.all_
// CHECK: spmd.all_reduce sum @mesh {"expert"} {{.*}} : tensor<f32>
// CHECK-NOT: spmd.{{all_|reduce_scatter|collective_permute}}

shoal.mesh @mesh = <["expert" = 8]>

func.func @moe_layer(%x: tensor<8x512x256xf32>, %wg: tensor<256x8xf32>,
    %wi: tensor<8x256x1024xf32>,
    %wo: tensor<8x1024x256xf32>)
    -> (tensor<8x512x256xf32>, tensor<f32>) {
  %xs = shoal.split %x {dim = 0, num_partitions = 8} : tensor<8x512x256xf32>
  %logits = shoal.einsum "GSM,ME->GSE" %xs, %wg : (tensor<8x512x256xf32>, tensor<256x8xf32>) -> tensor<8x512x8xf32>
  %gates = shoal.softmax %logits {axis = 2} : tensor<8x512x8xf32>
  %combine, %dispatch, %aux = shoal.top_k_gating %gates {k = 2, capacity = 128}
    : tensor<8x512x8xf32> -> tensor<8x512x8x128xf32>, tensor<8x512x8x128xf32>, tensor<f32>
  %d0 = shoal.einsum "GSEC,GSM->EGCM" %dispatch, %xs : (tensor<8x512x8x128xf32>, tensor<8x512x256xf32>) -> tensor<8x8x128x256xf32>
  %d = shoal.split %d0 {dim = 0, num_partitions = 8} : tensor<8x8x128x256xf32>
  %h0 = shoal.einsum "EGCM,EMH->EGCH" %d, %wi : (tensor<8x8x128x256xf32>, tensor<8x256x1024xf32>) -> tensor<8x8x128x1024xf32>
  %h = shoal.relu %h0 : tensor<8x8x128x1024xf32>
  %e0 = shoal.einsum "EGCH,EHM->GECM" %h, %wo : (tensor<8x8x128x1024xf32>, tensor<8x1024x256xf32>) -> tensor<8x8x128x256xf32>
  %e = shoal.split %e0 {dim = 0, num_partitions = 8} : tensor<8x8x128x256xf32>
  %y0 = shoal.einsum "GSEC,GECM->GSM" %combine, %e : (tensor<8x512x8x128xf32>, tensor<8x8x128x256xf32>) -> tensor<8x512x256xf32>
  return %y0, %aux : tensor<8x512x256xf32>, tensor<f32>
}
