// Nothing is sent.
func.func @alone(%x: tensor<4xf32> {shoal.name = "x"}) -> tensor<4xf32> {
  %y = math.exp %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
