// Only inputs and weights are annotated: the other values get the sharding that a
// person would choose, and the two all_to_alls.
//
// RUN: shoal-opt %s --shoal-partition | FileCheck %s

// CHECK-NOT: spmd.{{all_|reduce_scatter|collective_permute}}
// CHECK: spmd.all_to_all @mesh [{"expert"} : 1 -> 0] {{.*}} : tensor<16x1x32x128xf32> -> tensor<1x16x32x128xf32>
// CHECK-NOT: spmd.{{all_|reduce_scatter|collective_permute}}
// CHECK: spmd.all_to_all @mesh [{"expert"} : 1 -> 0] {{.*}} : tensor<16x1x32x128xf32> -> tensor<1x16x32x128xf32>
// CHECK-NOT: spmd.{{all_|reduce_scatter|collective_permute}}
// CHECK: spmd.all_reduce sum @mesh {"expert"} {{.*}} : tensor<f32>
// CHECK-NOT: spmd.{{all_|reduce_scatter|collective_permute}}

shoal.mesh @mesh = <["expert" = 16]>

func.func @moe_layer(%x: tensor<16x256x128xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"expert"}, {}, {}]>}, %wg: tensor<128x16xf32>,
    %wi: tensor<16x128x512xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"expert"}, {}, {}]>},
    %wo: tensor<16x512x128xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"expert"}, {}, {}]>})
    -> (tensor<16x256x128xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"expert"}, {}, {}]>}, tensor<f32>) {
  %logits = shoal.einsum "GSM,ME->GSE" %x, %wg : (tensor<16x256x128xf32>, tensor<128x16xf32>) -> tensor<16x256x16xf32>
  %gates = shoal.softmax %logits {axis = 2} : tensor<16x256x16xf32>
  %combine, %dispatch, %aux = shoal.top_k_gating %gates {k = 2, capacity = 32}
    : tensor<16x256x16xf32> -> tensor<16x256x16x32xf32>, tensor<16x256x16x32xf32>, tensor<f32>
  %d0 = shoal.einsum "GSEC,GSM->EGCM" %dispatch, %x : (tensor<16x256x16x32xf32>, tensor<16x256x128xf32>) -> tensor<16x16x32x128xf32>
  %h0 = shoal.einsum "EGCM,EMH->EGCH" %d0, %wi : (tensor<16x16x32x128xf32>, tensor<16x128x512xf32>) -> tensor<16x16x32x512xf32>
  %h = shoal.relu %h0 : tensor<16x16x32x512xf32>
  %e0 = shoal.einsum "EGCH,EHM->GECM" %h, %wo : (tensor<16x16x32x512xf32>, tensor<16x512x128xf32>) -> tensor<16x16x32x128xf32>
  %y0 = shoal.einsum "GSEC,GECM->GSM" %combine, %e0 : (tensor<16x256x16x32xf32>, tensor<16x16x32x128xf32>) -> tensor<16x256x128xf32>
  return %y0, %aux : tensor<16x256x128xf32>, tensor<f32>
}
