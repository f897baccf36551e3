// Layers of one function are repeated alike, at one place: one note of theirs.
//
// RUN: shoal-opt %s --shoal-assign="flops-per-byte=1000 repeat-margin=1" --mlir-print-op-on-diagnostic=false -o /dev/null 2>&1 | FileCheck %s

// CHECK: f.py:1:1: warning: shoal.einsum "BM,MH->BH" is computed 4 x an even split
// CHECK: layer.py:3:1: note: shoal.einsum "BM,BH->MH" is computed 4 x an even split
// CHECK-NOT: layer.py

shoal.mesh @mesh = <["data" = 4]>

#rows = #shoal.sharding<@mesh, [{"data"}, {}]>
#whole = #shoal.sharding<@mesh, [{}, {}]>

func.func @gradient(%x: tensor<64x512xf32> {shoal.sharding = #rows},
                    %w: tensor<512x512xf32> {shoal.sharding = #whole})
    -> (tensor<512x512xf32> {shoal.sharding = #whole}) {
  %y = shoal.einsum "BM,MH->BH" %x, %w : (tensor<64x512xf32>, tensor<512x512xf32>) -> tensor<64x512xf32> loc("f.py":1:1)
  %z = math.tanh %y : tensor<64x512xf32>
  %a = shoal.einsum "BM,BH->MH" %x, %y : (tensor<64x512xf32>, tensor<64x512xf32>) -> tensor<512x512xf32> loc("layer.py":3:1)
  %b = shoal.einsum "BM,BH->MH" %x, %z : (tensor<64x512xf32>, tensor<64x512xf32>) -> tensor<512x512xf32> loc("layer.py":3:1)
  %s = arith.addf %a, %b : tensor<512x512xf32>
  return %s : tensor<512x512xf32>
}
