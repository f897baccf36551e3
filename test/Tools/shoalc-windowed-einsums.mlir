// A windowed einsum sends what the collective sends, and needs less memory: two
// blocks and a partial result instead of all blocks, and no terms of a
// reduce_scatter.
//
// RUN: shoalc %s --entry=gather --emit=summary | FileCheck %s --check-prefix=GATHER
// RUN: shoalc %s --entry=gather --emit=summary --windowed-einsum-bytes=2097152 | FileCheck %s --check-prefix=GATHER
// RUN: shoalc %s --entry=gather --emit=summary --windowed-einsum-bytes=2097151 | FileCheck %s --check-prefix=GATHER-LOOP
// RUN: shoalc %s --entry=weights --emit=summary | FileCheck %s --check-prefix=WEIGHTS
// RUN: shoalc %s --entry=weights --emit=summary --windowed-einsum-bytes=1000000 | FileCheck %s --check-prefix=WEIGHTS-LOOP
// RUN: shoalc %s --entry=scatter --emit=summary | FileCheck %s --check-prefix=SCATTER
// RUN: shoalc %s --entry=scatter --emit=summary --windowed-einsum-bytes=1000000 | FileCheck %s --check-prefix=SCATTER-LOOP

shoal.mesh @mesh = <["x" = 8]>
#x_ = #shoal.sharding<@mesh, [{"x"}, {}]>
#_x = #shoal.sharding<@mesh, [{}, {"x"}]>

// GATHER: collectives: 1, 1,835,008 bytes
// GATHER-NEXT: all_gather
// GATHER: memory: {{.*}} arena 2,097,152;
// GATHER-LOOP: collectives: 1, 1,835,008 bytes
// GATHER-LOOP-NEXT: collective_permute {"x"} -> {"x"} in groups of 8: 262,144 bytes, 7 times
// GATHER-LOOP: memory: {{.*}} arena 655,{{[0-9]+}};
func.func @gather(%x: tensor<1024x512xf32> {shoal.sharding = #x_}, %w: tensor<512x2048xf32> {shoal.sharding = #_x})
    -> (tensor<1024x2048xf32> {shoal.sharding = #_x}) {
  %y = shoal.einsum "BK,KN->BN" %x, %w : (tensor<1024x512xf32>, tensor<512x2048xf32>) -> tensor<1024x2048xf32>
  return %y : tensor<1024x2048xf32>
}

// WEIGHTS: collectives: 1, 1,835,008 bytes
// WEIGHTS-NEXT: all_gather
// WEIGHTS: memory: {{.*}} arena 2,097,152;
// WEIGHTS-LOOP: collectives: 1, 1,835,008 bytes
// WEIGHTS-LOOP-NEXT: collective_permute {"x"} -> {"x"} in groups of 8: 262,144 bytes, 7 times
// WEIGHTS-LOOP: memory: {{.*}} arena 688,{{[0-9]+}};
func.func @weights(%x: tensor<512x1024xf32> {shoal.sharding = #x_}, %w: tensor<1024x512xf32> {shoal.sharding = #x_})
    -> (tensor<512x512xf32> {shoal.sharding = #x_}) {
  %ws = shoal.sharding_constraint %w <@mesh, [{}, {}]> : tensor<1024x512xf32>
  %y = shoal.einsum "BK,KN->BN" %x, %ws : (tensor<512x1024xf32>, tensor<1024x512xf32>) -> tensor<512x512xf32>
  return %y : tensor<512x512xf32>
}

// SCATTER: collectives: 1, 1,835,008 bytes
// SCATTER-NEXT: reduce_scatter
// SCATTER: memory: {{.*}} arena 4,194,304;
// SCATTER-LOOP: collectives: 1, 1,835,008 bytes
// SCATTER-LOOP-NEXT: collective_permute {"x"} -> {"x"} in groups of 8: 262,144 bytes, 7 times
// SCATTER-LOOP: memory: {{.*}} arena 524,{{[0-9]+}};
func.func @scatter(%x: tensor<1024x2048xf32> {shoal.sharding = #_x}, %w: tensor<2048x512xf32> {shoal.sharding = #x_})
    -> (tensor<1024x512xf32> {shoal.sharding = #x_}) {
  %y = shoal.einsum "BK,KN->BN" %x, %w : (tensor<1024x2048xf32>, tensor<2048x512xf32>) -> tensor<1024x512xf32>
  return %y : tensor<1024x512xf32>
}
