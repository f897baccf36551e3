// DeepSpeed-MoE, data 2 x expert 4 x tensor 2: expert groups {0, 2, 4, 6},
// {1, 3, 5, 7}, ...; tensor groups {0, 1}, .... The sum over tensor is taken
// behind the combine einsum, where it is smaller than the [E, G, C, M] buffer.
//
// RUN: shoal-opt %s --shoal-partition="flops-per-byte=1000 repeat-margin=1" | FileCheck %s

// CHECK-NOT: spmd.{{all_|reduce_scatter|collective_permute}}
// CHECK: spmd.all_to_all @mesh [{"expert"} : 1 -> 0] {{.*}} : tensor<8x1x32x32xf32> -> tensor<2x4x32x32xf32>
// CHECK-NOT: spmd.{{all_|collective_permute}}
// The sum over tensor, scattered, halves what the all_to_all sends; the tokens
// are gathered behind the combine einsum.
// CHECK: spmd.reduce_scatter sum @mesh [{}, {}, {}, {"tensor"}] {{.*}} : tensor<4x2x32x32xf32> -> tensor<4x2x32x16xf32>
// CHECK: spmd.all_to_all @mesh [{"expert"} : 1 -> 0] {{.*}} : tensor<4x2x32x16xf32> -> tensor<1x8x32x16xf32>
// CHECK-NOT: spmd.{{all_to_all|reduce_scatter|collective_permute}}
// CHECK: spmd.all_gather @mesh [{}, {}, {"tensor"}] {{.*}} : tensor<1x64x16xf32> -> tensor<1x64x32xf32>
// CHECK-NOT: spmd.{{all_to_all|all_gather|reduce_scatter|collective_permute}}

shoal.mesh @mesh = <["data" = 2, "expert" = 4, "tensor" = 2]>

func.func @moe_layer(%x: tensor<8x64x32xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"data", "expert"}, {}, {}]>}, %wg: tensor<32x8xf32>,
    %wi: tensor<8x32x128xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"expert"}, {}, {"tensor"}]>},
    %wo: tensor<8x128x32xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"expert"}, {"tensor"}, {}]>})
    -> (tensor<8x64x32xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"data", "expert"}, {}, {}]>}, tensor<f32>) {
  %logits = shoal.einsum "GSM,ME->GSE" %x, %wg : (tensor<8x64x32xf32>, tensor<32x8xf32>) -> tensor<8x64x8xf32>
  %gates = shoal.softmax %logits {axis = 2} : tensor<8x64x8xf32>
  %combine, %dispatch, %aux = shoal.top_k_gating %gates {k = 2, capacity = 32}
    : tensor<8x64x8xf32> -> tensor<8x64x8x32xf32>, tensor<8x64x8x32xf32>, tensor<f32>
  %d0 = shoal.einsum "GSEC,GSM->EGCM" %dispatch, %x : (tensor<8x64x8x32xf32>, tensor<8x64x32xf32>) -> tensor<8x8x32x32xf32>
  %d = shoal.sharding_constraint %d0 <@mesh, [{"expert"}, {"data"}, {}, {}]> : tensor<8x8x32x32xf32>
  %h0 = shoal.einsum "EGCM,EMH->EGCH" %d, %wi : (tensor<8x8x32x32xf32>, tensor<8x32x128xf32>) -> tensor<8x8x32x128xf32>
  %h = shoal.relu %h0 : tensor<8x8x32x128xf32>
  %e0 = shoal.einsum "EGCH,EHM->GECM" %h, %wo : (tensor<8x8x32x128xf32>, tensor<8x128x32xf32>) -> tensor<8x8x32x32xf32>
  %y0 = shoal.einsum "GSEC,GECM->GSM" %combine, %e0 : (tensor<8x64x8x32xf32>, tensor<8x8x32x32xf32>) -> tensor<8x64x32xf32>
  return %y0, %aux : tensor<8x64x32xf32>, tensor<f32>
}
