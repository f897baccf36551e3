// RUN: shoal-opt %s --split-input-file --shoal-assign 2>&1 | FileCheck %s --implicit-check-not=warning
// RUN: shoal-opt %s --split-input-file --shoal-assign="machine=gpu" 2>&1 | FileCheck %s --implicit-check-not=warning
// RUN: shoal-opt %s --split-input-file --shoal-assign="flops-per-byte=1000" 2>&1 | FileCheck %s
// RUN: shoal-opt %s --split-input-file --shoal-assign="flops-per-byte=1000 repeat-margin=1 warn-repeated-work=0" 2>&1 | FileCheck %s --check-prefix=ALONE --implicit-check-not=warning

// A batch split by its annotation splits the work, by any balance of a machine:
// a quarter of the operations each. By bytes alone the batch would be gathered and everything computed everywhere.

shoal.mesh @mesh = <["data" = 4]>

#rows = #shoal.sharding<@mesh, [{"data"}, {}]>
#whole = #shoal.sharding<@mesh, [{}, {}]>

// CHECK-LABEL: func @gradient(
// CHECK: shoal.einsum "BM,MH->BH" {{.*}}{"data"}
// CHECK: shoal.einsum "BM,BH->MH" {{.*}}{"data"}
// CHECK: return
// ALONE-LABEL: func @gradient(
// ALONE-NEXT: shoal.reshard %arg0 <@mesh, [{"data"}, {}]> -> <@mesh, [{}, {}]>
// ALONE-NOT: shoal.reshard
// ALONE: return
func.func @gradient(%x: tensor<64x512xf32> {shoal.sharding = #rows},
                    %w: tensor<512x512xf32> {shoal.sharding = #whole})
    -> (tensor<512x512xf32> {shoal.sharding = #whole}) {
  %y = shoal.einsum "BM,MH->BH" %x, %w : (tensor<64x512xf32>, tensor<512x512xf32>) -> tensor<64x512xf32>
  %dw = shoal.einsum "BM,BH->MH" %x, %y : (tensor<64x512xf32>, tensor<64x512xf32>) -> tensor<512x512xf32>
  return %dw : tensor<512x512xf32>
}

// -----

shoal.mesh @mesh = <["data" = 4]>

// What is over sooner than a collective begins is not worth a word, by what a
// machine takes for one.
func.func @small(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>)
    -> (tensor<8x8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>}) {
  %y = shoal.einsum "BM,MH->BH" %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}
