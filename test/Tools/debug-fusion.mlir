// What the passes from shoal's ops to fused loops decide, and how often.

// DEFINE: %{fuse} = shoal-opt %s --shoal-to-linalg --convert-elementwise-to-linalg --canonicalize \
// DEFINE:   --shoal-fuse-elementwise --shoal-fuse-epilogues --shoal-fuse-gathers --mlir-disable-threading -o /dev/null
// RUN: %{fuse} --shoal-statistics 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: %if asserts %{ %{fuse} --debug-only=shoal-to-linalg 2>&1 | FileCheck %s --check-prefix=LINALG %}
// RUN: %if asserts %{ %{fuse} --debug-only=shoal-fuse-epilogues 2>&1 | FileCheck %s --check-prefix=EPILOGUE %}
// RUN: %if asserts %{ %{fuse} --debug-only=shoal-fuse-gathers 2>&1 | FileCheck %s --check-prefix=GATHER %}

// COUNT-DAG: 1 shoal-fuse-epilogues {{ *}}- Products with an epilogue
// COUNT-DAG: 1 shoal-fuse-epilogues {{ *}}- Biases in epilogues
// COUNT-DAG: 1 shoal-fuse-epilogues {{ *}}- Activations in epilogues
// COUNT-DAG: 1 shoal-fuse-gathers {{ *}}- Gathers that stay calls
// COUNT-DAG: 1 shoal-fuse-gathers {{ *}}- Gathers that their readers do
// COUNT-DAG: 1 shoal-fuse-gathers {{ *}}- Readers that gather for themselves
// COUNT-DAG: 7 shoal-to-linalg {{ *}}- Ops lowered by patterns
// COUNT-DAG: 1 shoal-to-linalg {{ *}}- Ops on tensors of no elements
// COUNT-DAG: 1 shoal-to-linalg {{ *}}- Results that may reuse an argument

// What has no elements goes first, donors are found last.
// LINALG: [shoal-to-linalg {{.*}}] shoal.slice at {{.*}}debug-fusion.mlir:[[# @LINE + 14]]:8 has no elements

func.func @layer(%x: tensor<8x16xf32>, %w: tensor<16x12xf32>, %b: tensor<12xf32>, %n: tensor<8x16xi32>,
                 %old: tensor<8x12xf32> {shoal.donated}) -> (tensor<8x12xf32>, tensor<8x8xi32>, tensor<0x12xf32>) {
  %zero = arith.constant dense<0.0> : tensor<8x12xf32>
  // LINALG: shoal.einsum at {{.*}}debug-fusion.mlir:[[# @LINE + 3]]:8 becomes rt.einsum
  // EPILOGUE: [shoal-fuse-epilogues {{.*}}] the product at {{.*}}:[[# @LINE + 7]]:8 is not of floats, or not read by one op alone
  // EPILOGUE-NEXT: the product at {{.*}}:[[# @LINE + 1]]:8 takes 0 scales, a bias, relu
  %0 = shoal.einsum "BI,IO->BO" %x, %w : (tensor<8x16xf32>, tensor<16x12xf32>) -> tensor<8x12xf32>
  // LINALG: shoal.broadcast_in_dim at {{.*}}:[[# @LINE + 1]]:8 becomes linalg.generic
  %1 = shoal.broadcast_in_dim %b dims = [1] : tensor<12xf32> -> tensor<8x12xf32>
  %2 = arith.addf %0, %1 : tensor<8x12xf32>
  %3 = arith.maximumf %2, %zero : tensor<8x12xf32>
  %4 = shoal.einsum "BI,CI->BC" %n, %n : (tensor<8x16xi32>, tensor<8x16xi32>) -> tensor<8x8xi32>
  %5 = shoal.slice %3 starts = [0, 0] limits = [0, 12] strides = [1, 1] : tensor<8x12xf32> -> tensor<0x12xf32>
  return %3, %4, %5 : tensor<8x12xf32>, tensor<8x8xi32>, tensor<0x12xf32>
}

func.func @rows(%x: tensor<40x64xf32>, %y: tensor<40xf32>, %at: tensor<32xi32>)
    -> (tensor<32x64xf32>, tensor<32xf32>, tensor<f32>, tensor<32x32xf32>) {
  // GATHER: [shoal-fuse-gathers {{.*}}] the gather at {{.*}}:[[# @LINE + 1]]:8 goes into 1 readers
  %0 = shoal.gather %x, %at offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0] index_vector_dim = 1
      slice_sizes = [1, 64] : (tensor<40x64xf32>, tensor<32xi32>) -> tensor<32x64xf32>
  %1 = math.exp %0 : tensor<32x64xf32>
  // GATHER: the gather at {{.*}}:[[# @LINE + 1]]:8 stays: its rows are too short to be read several times
  %2 = shoal.gather %y, %at offset_dims = [] collapsed_slice_dims = [0] start_index_map = [0] index_vector_dim = 1
      slice_sizes = [1] : (tensor<40xf32>, tensor<32xi32>) -> tensor<32xf32>
  %3 = math.exp %2 : tensor<32xf32>
  %4 = shoal.reduce max %2 dims = [0] : tensor<32xf32> -> tensor<f32>
  // EPILOGUE: nothing that the op at {{.*}}:[[# @LINE + 2]]:8 begins with goes into the product at {{.*}}:[[# @LINE + 1]]:8
  %5 = shoal.einsum "BI,CI->BC" %1, %1 : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x32xf32>
  %6 = math.exp %5 : tensor<32x32xf32>
  return %1, %3, %4, %6 : tensor<32x64xf32>, tensor<32xf32>, tensor<f32>, tensor<32x32xf32>
}

// LINALG: [shoal-to-linalg {{.*}}] the results of @layer may be made in arguments [4, -1, -1], -1 in none
