// RUN: shoal-opt %s --verify-diagnostics --shoal-assign="flops-per-byte=1000 repeat-margin=1" -o /dev/null

shoal.mesh @mesh = <["data" = 4]>

#rows = #shoal.sharding<@mesh, [{"data"}, {}]>
#whole = #shoal.sharding<@mesh, [{}, {}]>

func.func @gradient(%x: tensor<64x512xf32> {shoal.sharding = #rows},
                    %w: tensor<512x512xf32> {shoal.sharding = #whole})
    -> (tensor<512x512xf32> {shoal.sharding = #whole}) {
  // expected-warning @below {{shoal.einsum "BM,MH->BH" is computed 4 x an even split, the program 4 x; --warn-repeated-work=0 allows it in silence, --max-repeated-work=1 forbids it}}
  %y = shoal.einsum "BM,MH->BH" %x, %w : (tensor<64x512xf32>, tensor<512x512xf32>) -> tensor<64x512xf32>
  // expected-note @below {{shoal.einsum "BM,BH->MH" is computed 4 x an even split}}
  %dw = shoal.einsum "BM,BH->MH" %x, %y : (tensor<64x512xf32>, tensor<64x512xf32>) -> tensor<512x512xf32>
  return %dw : tensor<512x512xf32>
}

// 5 rows are 2 for three devices and none for the last: that fills up a shard,
// and repeats nothing.
#few = #shoal.sharding<@mesh, [{"data"}, {}]>
func.func @uneven(%x: tensor<5x512xf32> {shoal.sharding = #few}, %w: tensor<512x512xf32> {shoal.sharding = #whole})
    -> (tensor<5x512xf32> {shoal.sharding = #few}) {
  %y = shoal.einsum "BM,MH->BH" %x, %w : (tensor<5x512xf32>, tensor<512x512xf32>) -> tensor<5x512xf32>
  return %y : tensor<5x512xf32>
}

// What each device does in a region of its own is its own.
func.func @manual(%x: tensor<64x512xf32> {shoal.sharding = #rows}, %w: tensor<512x512xf32> {shoal.sharding = #whole})
    -> (tensor<64x512xf32> {shoal.sharding = #rows}) {
  %y = shoal.manual_computation @mesh {"data"} (%x, %w) in [#rows, #whole] out [#rows] {
  ^bb0(%a: tensor<16x512xf32>, %b: tensor<512x512xf32>):
    %p = shoal.einsum "BM,MH->BH" %a, %b : (tensor<16x512xf32>, tensor<512x512xf32>) -> tensor<16x512xf32>
    shoal.yield %p : tensor<16x512xf32>
  } : (tensor<64x512xf32>, tensor<512x512xf32>) -> tensor<64x512xf32>
  return %y : tensor<64x512xf32>
}

// Where nobody asked for a split the note says so, and of which axis.
func.func @nobody_asked(%x: tensor<64x512xf32> {shoal.sharding = #whole}, %w: tensor<512x512xf32> {shoal.sharding = #whole})
    -> (tensor<64x512xf32> {shoal.sharding = #whole}) {
  // expected-warning @below {{shoal.einsum "BM,MH->BH" is computed 4 x an even split, the program 4 x;}}
  // expected-note @below {{no annotation splits an operand of it over {"data"}}}
  %y = shoal.einsum "BM,MH->BH" %x, %w : (tensor<64x512xf32>, tensor<512x512xf32>) -> tensor<64x512xf32>
  return %y : tensor<64x512xf32>
}
