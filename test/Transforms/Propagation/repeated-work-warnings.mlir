// RUN: shoal-opt %s --verify-diagnostics --shoal-assign="flops-per-byte=1000 repeat-margin=1" -o /dev/null

shoal.mesh @mesh = <["data" = 4]>

#rows = #shoal.sharding<@mesh, [{"data"}, {}]>
#whole = #shoal.sharding<@mesh, [{}, {}]>

func.func @gradient(%x: tensor<64x512xf32> {shoal.sharding = #rows},
                    %w: tensor<512x512xf32> {shoal.sharding = #whole})
    -> (tensor<512x512xf32> {shoal.sharding = #whole}) {
  // expected-warning @below {{shoal.einsum "BM,MH->BH" is computed 4 x an even split, the program 4 x; annotations of its operands split it, --warn-repeated-work=0 allows it in silence, --max-repeated-work forbids it}}
  %y = shoal.einsum "BM,MH->BH" %x, %w : (tensor<64x512xf32>, tensor<512x512xf32>) -> tensor<64x512xf32>
  // expected-note @below {{shoal.einsum "BM,BH->MH" is computed 4 x an even split}}
  %dw = shoal.einsum "BM,BH->MH" %x, %y : (tensor<64x512xf32>, tensor<64x512xf32>) -> tensor<512x512xf32>
  return %dw : tensor<512x512xf32>
}
