// RUN: shoal-opt %s --split-input-file --shoal-import --shoal-assign="lint flops-per-byte=1000" -o /dev/null 2>&1 | FileCheck %s

// A weight that is split over the wrong axis: its product is over what "model" splits.
// CHECK: lint.mlir:[[@LINE+4]]:{{.*}}: warning: annotation <@mesh, [{"data"}, {}]> of argument 2 "w2" is dear: a device sends 43,008 bytes, without it 12,288, at 33% of the plan's price
// CHECK: note: with <@mesh, [{"model"}, {}]> in its place it sends 12,288, at 33% of the plan's price
shoal.mesh @mesh = <["data" = 2, "model" = 4]>
func.func @wrong_axis(%x: tensor<64x64xf32> {shoal.name = "x", shoal.sharding = #shoal.sharding<@mesh, [{"data"}, {}]>}, %w1: tensor<64x1024xf32> {shoal.name = "w1", shoal.sharding = #shoal.sharding<@mesh, [{}, {"model"}]>},
    %w2: tensor<1024x64xf32> {shoal.name = "w2", shoal.sharding = #shoal.sharding<@mesh, [{"data"}, {}]>}) -> (tensor<64x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"data"}, {}]>}) {
  %h0 = shoal.einsum "BM,MH->BH" %x, %w1 : (tensor<64x64xf32>, tensor<64x1024xf32>) -> tensor<64x1024xf32>
  %h = shoal.relu %h0 : tensor<64x1024xf32>
  %y = shoal.einsum "BH,HM->BM" %h, %w2 : (tensor<64x1024xf32>, tensor<1024x64xf32>) -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// CHECK: lint.mlir:[[@LINE+4]]:{{.*}}: warning: annotation <@mesh, [{"data"}, {}]> of shoal.sharding_constraint changes nothing: without it the same shardings are chosen
shoal.mesh @mesh = <["data" = 2]>
func.func @of_no_use(%x: tensor<64x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"data"}, {}]>}) -> (tensor<64x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"data"}]>}) {
  %e = math.exp %x : tensor<64x64xf32>
  %c = shoal.sharding_constraint %e <@mesh, [{"data"}, {}]> : tensor<64x64xf32>
  %s = shoal.reduce sum %c dims = [1] : tensor<64x64xf32> -> tensor<64xf32>
  %b = shoal.broadcast_in_dim %s dims = [0] : tensor<64xf32> -> tensor<64x64xf32>
  %y = arith.addf %b, %c : tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// CHECK: lint.mlir:[[@LINE+3]]:{{.*}}: warning: axis {"model"} of size 4 splits nothing: devices along it do the same
// CHECK-NOT: warning
shoal.mesh @mesh = <["data" = 2, "model" = 4]>
func.func @idle(%x: tensor<63x1xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"data"}, {}]>}) -> (tensor<63x1xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"data"}, {}]>}) {
  %y = math.exp %x : tensor<63x1xf32>
  return %y : tensor<63x1xf32>
}
