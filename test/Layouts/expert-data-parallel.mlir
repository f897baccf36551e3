// DeepSpeed-MoE, expert 4 x data 4: experts split in the groups {0..3}, {4..7},
// ... and replicated over {0, 4, 8, 12}, ...: all_to_alls in the expert group.
//
// RUN: shoal-opt %s --shoal-partition | FileCheck %s

// CHECK-NOT: spmd.{{all_|reduce_scatter|collective_permute}}
// CHECK: spmd.all_to_all @mesh [{"expert"} : 1 -> 0] {{.*}} : tensor<8x1x16x32xf32> -> tensor<2x4x16x32xf32>
// CHECK-NOT: spmd.{{all_|reduce_scatter|collective_permute}}
// CHECK: spmd.all_to_all @mesh [{"expert"} : 1 -> 0] {{.*}} : tensor<4x2x16x32xf32> -> tensor<1x8x16x32xf32>
// CHECK-NOT: spmd.{{all_|reduce_scatter|collective_permute}}
// CHECK: spmd.all_reduce sum @mesh {"data", "expert"} {{.*}} : tensor<f32>
// CHECK-NOT: spmd.{{all_|reduce_scatter|collective_permute}}

shoal.mesh @mesh = <["data" = 4, "expert" = 4]>

func.func @moe_layer(%x: tensor<16x64x32xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"data", "expert"}, {}, {}]>}, %wg: tensor<32x8xf32>,
    %wi: tensor<8x32x128xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"expert"}, {}, {}]>},
    %wo: tensor<8x128x32xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"expert"}, {}, {}]>})
    -> (tensor<16x64x32xf32>, tensor<f32>) {
  %logits = shoal.einsum "GSM,ME->GSE" %x, %wg : (tensor<16x64x32xf32>, tensor<32x8xf32>) -> tensor<16x64x8xf32>
  %gates = shoal.softmax %logits {axis = 2} : tensor<16x64x8xf32>
  %combine, %dispatch, %aux = shoal.top_k_gating %gates {k = 2, capacity = 16}
    : tensor<16x64x8xf32> -> tensor<16x64x8x16xf32>, tensor<16x64x8x16xf32>, tensor<f32>
  %d0 = shoal.einsum "GSEC,GSM->EGCM" %dispatch, %x : (tensor<16x64x8x16xf32>, tensor<16x64x32xf32>) -> tensor<8x16x16x32xf32>
  %d = shoal.sharding_constraint %d0 <@mesh, [{"expert"}, {"data"}, {}, {}]> : tensor<8x16x16x32xf32>
  %h0 = shoal.einsum "EGCM,EMH->EGCH" %d, %wi : (tensor<8x16x16x32xf32>, tensor<8x32x128xf32>) -> tensor<8x16x16x128xf32>
  %h = shoal.relu %h0 : tensor<8x16x16x128xf32>
  %e0 = shoal.einsum "EGCH,EHM->GECM" %h, %wo : (tensor<8x16x16x128xf32>, tensor<8x128x32xf32>) -> tensor<16x8x16x32xf32>
  %e = shoal.sharding_constraint %e0 <@mesh, [{"data", "expert"}, {}, {}, {}]> : tensor<16x8x16x32xf32>
  %y0 = shoal.einsum "GSEC,GECM->GSM" %combine, %e : (tensor<16x64x8x16xf32>, tensor<16x8x16x32xf32>) -> tensor<16x64x32xf32>
  return %y0, %aux : tensor<16x64x32xf32>, tensor<f32>
}
