shoal.mesh @mesh = <["x" = 4]>

func.func @f(%x: tensor<12x8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
             %w: tensor<4x2x8x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}, {}, {}]>},
             %sizes: tensor<8xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>})
    -> (tensor<4x12x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}, {}]>}) {
  %ends = shoal.cumulative sum %sizes dim = 0 : tensor<8xi32>
  %begins = arith.subi %ends, %sizes : tensor<8xi32>
  %e = shoal.reshape %ends : tensor<8xi32> -> tensor<4x2xi32>
  %b = shoal.reshape %begins : tensor<8xi32> -> tensor<4x2xi32>
  %y = shoal.ragged_einsum "TM,DEMH,DE->DTH" rows "T" %x, %w groups %b, %e
     : (tensor<12x8xf32>, tensor<4x2x8x5xf32>, tensor<4x2xi32>, tensor<4x2xi32>) -> tensor<4x12x5xf32>
  return %y : tensor<4x12x5xf32>
}
