// All-gather expert parallelism: every device of the expert group gets all
// tokens, computes its own experts, and the outputs are reduce_scattered.
//
// RUN: shoal-opt %s --shoal-partition="flops-per-byte=1000 repeat-margin=1" | FileCheck %s

// CHECK-NOT: spmd.{{all_reduce|all_to_all|reduce_scatter|collective_permute}}
// CHECK: spmd.all_gather @mesh [{"expert"}, {}, {}] {{.*}} : tensor<1x64x32xf32> -> tensor<8x64x32xf32>
// CHECK-NOT: spmd.{{all_reduce|all_to_all|all_gather|collective_permute}}
// CHECK: spmd.reduce_scatter sum @mesh [{"expert"}, {}, {}] {{.*}} : tensor<8x64x32xf32> -> tensor<1x64x32xf32>
// CHECK-NOT: spmd.{{all_reduce|all_to_all|all_gather|reduce_scatter|collective_permute}}

shoal.mesh @mesh = <["expert" = 8]>

func.func @moe_layer(%x: tensor<8x64x32xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"expert"}, {}, {}]>}, %wg: tensor<32x8xf32>,
    %wi: tensor<8x32x128xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"expert"}, {}, {}]>},
    %wo: tensor<8x128x32xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"expert"}, {}, {}]>})
    -> (tensor<8x64x32xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"expert"}, {}, {}]>}, tensor<f32>) {
  %xg = shoal.sharding_constraint %x <@mesh, [{}, {}, {}]> : tensor<8x64x32xf32>
  %logits = shoal.einsum "GSM,ME->GSE" %xg, %wg : (tensor<8x64x32xf32>, tensor<32x8xf32>) -> tensor<8x64x8xf32>
  %gates = shoal.softmax %logits {axis = 2} : tensor<8x64x8xf32>
  %combine, %dispatch, %aux = shoal.top_k_gating %gates {k = 2, capacity = 32}
    : tensor<8x64x8xf32> -> tensor<8x64x8x32xf32>, tensor<8x64x8x32xf32>, tensor<f32>
  %cm = shoal.sharding_constraint %combine <@mesh, [{}, {}, {"expert"}, {}]> : tensor<8x64x8x32xf32>
  %d0 = shoal.einsum "GSEC,GSM->EGCM" %dispatch, %xg : (tensor<8x64x8x32xf32>, tensor<8x64x32xf32>) -> tensor<8x8x32x32xf32>
  %d = shoal.sharding_constraint %d0 <@mesh, [{"expert"}, {}, {}, {}]> : tensor<8x8x32x32xf32>
  %h0 = shoal.einsum "EGCM,EMH->EGCH" %d, %wi : (tensor<8x8x32x32xf32>, tensor<8x32x128xf32>) -> tensor<8x8x32x128xf32>
  %h = shoal.relu %h0 : tensor<8x8x32x128xf32>
  %e0 = shoal.einsum "EGCH,EHM->GECM" %h, %wo : (tensor<8x8x32x128xf32>, tensor<8x128x32xf32>) -> tensor<8x8x32x32xf32>
  %e = shoal.sharding_constraint %e0 <@mesh, [{}, {"expert"}, {}, {}]> : tensor<8x8x32x32xf32>
  %y0 = shoal.einsum "GSEC,GECM->GSM" %cm, %e : (tensor<8x64x8x32xf32>, tensor<8x8x32x32xf32>) -> tensor<8x64x32xf32>
  return %y0, %aux : tensor<8x64x32xf32>, tensor<f32>
}
