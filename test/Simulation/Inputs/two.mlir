shoal.mesh @mesh = <["d" = 2]>
func.func @main(%x: tensor<64x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"d"}]>},
                %w: tensor<64x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"d"}, {}]>})
    -> (tensor<64x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>}) {
  %y = shoal.einsum "ab,bc->ac" %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}
