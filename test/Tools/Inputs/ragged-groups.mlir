shoal.mesh @mesh = <["x" = 4]>

func.func @f(%x: tensor<12x8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
             %w: tensor<8x8x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}, {}]>},
             %sizes: tensor<8xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}) -> tensor<12x5xf32> {
  %ends = shoal.cumulative sum %sizes dim = 0 : tensor<8xi32>
  %begins = arith.subi %ends, %sizes : tensor<8xi32>
  %y = shoal.ragged_einsum "TM,EMH,E->TH" rows "T" %x, %w groups %begins, %ends
     : (tensor<12x8xf32>, tensor<8x8x5xf32>, tensor<8xi32>, tensor<8xi32>) -> tensor<12x5xf32>
  return %y : tensor<12x5xf32>
}
