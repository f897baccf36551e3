// GShard's Mixture-of-Experts layer (Algorithm 2) for 4 devices.
//
// Letters: G = 4 groups of S = 256 tokens, M = 64 model size, E = 8 experts with
// H = 256 hidden units and room for C = 64 tokens of a group.
//
// Only three values are split. The groups are spread over the devices, then the
// experts, then the groups again: the two changes are the two all_to_all.

shoal.mesh @mesh = <["expert" = 4]>

func.func @moe_layer(
    %x: tensor<4x256x64xf32> {shoal.name = "x"},
    %router: tensor<64x8xf32> {shoal.name = "router"},
    %wi: tensor<8x64x256xf32> {shoal.name = "wi"},
    %wo: tensor<8x256x64xf32> {shoal.name = "wo"})
    -> (tensor<4x256x64xf32> {shoal.name = "y"},
        tensor<f32> {shoal.name = "aux"},
        tensor<4x8xf32> {shoal.name = "routed"},
        tensor<4x8xf32> {shoal.name = "kept"}) {
  // Gating: which two experts each token goes to, and with what weight.
  %xs = shoal.split %x {dim = 0, num_partitions = 4} : tensor<4x256x64xf32>
  %router_everywhere = shoal.replicate %router : tensor<64x8xf32>
  %logits = shoal.einsum "GSM,ME->GSE" %xs, %router_everywhere
      : (tensor<4x256x64xf32>, tensor<64x8xf32>) -> tensor<4x256x8xf32>
  %gates = shoal.softmax %logits {axis = 2} : tensor<4x256x8xf32>
  %combine, %dispatch, %aux = shoal.top_k_gating %gates {k = 2, capacity = 64}
      : tensor<4x256x8xf32>
     -> tensor<4x256x8x64xf32>, tensor<4x256x8x64xf32>, tensor<f32>

  // Dispatch: each expert's tokens from all groups.
  %d0 = shoal.einsum "GSEC,GSM->EGCM" %dispatch, %xs
      : (tensor<4x256x8x64xf32>, tensor<4x256x64xf32>) -> tensor<8x4x64x64xf32>
  %d = shoal.split %d0 {dim = 0, num_partitions = 4} : tensor<8x4x64x64xf32>

  // The experts.
  %h0 = shoal.einsum "EGCM,EMH->EGCH" %d, %wi
      : (tensor<8x4x64x64xf32>, tensor<8x64x256xf32>) -> tensor<8x4x64x256xf32>
  %h = shoal.relu %h0 : tensor<8x4x64x256xf32>
  %e0 = shoal.einsum "EGCH,EHM->GECM" %h, %wo
      : (tensor<8x4x64x256xf32>, tensor<8x256x64xf32>) -> tensor<4x8x64x64xf32>

  // Combine: back to the tokens' groups.
  %e = shoal.split %e0 {dim = 0, num_partitions = 4} : tensor<4x8x64x64xf32>
  %y = shoal.einsum "GSEC,GECM->GSM" %combine, %e
      : (tensor<4x256x8x64xf32>, tensor<4x8x64x64xf32>) -> tensor<4x256x64xf32>

  // Statistics by group and expert: choices made, and choices that found room.
  %best, %choice = shoal.top_k %gates {k = 2}
      : tensor<4x256x8xf32> -> tensor<4x256x2xf32>, tensor<4x256x2xi32>
  %chosen = shoal.one_hot %choice {dim = 3}
      : tensor<4x256x2xi32> -> tensor<4x256x2x8xf32>
  %routed = shoal.reduce sum %chosen dims = [1, 2]
      : tensor<4x256x2x8xf32> -> tensor<4x8xf32>
  %kept = shoal.reduce sum %dispatch dims = [1, 3]
      : tensor<4x256x8x64xf32> -> tensor<4x8xf32>
  return %y, %aux, %routed, %kept
      : tensor<4x256x64xf32>, tensor<f32>, tensor<4x8xf32>, tensor<4x8xf32>
}
