// A mesh whose devices are in an order of their own, and parts of an axis.
shoal.mesh @mesh = <["x" = 8], device_ids = [0, 2, 1, 3, 7, 6, 5, 4]>

func.func @ordered(
    %x: tensor<8x6xf32> {shoal.name = "x", shoal.sharding = #shoal.sharding<@mesh, [{"x":(4)2}, {"x":(1)4}]>})
    -> (tensor<8x6xf32> {shoal.name = "y", shoal.sharding = #shoal.sharding<@mesh, [{"x":(1)2}, {"x":(4)2}]>}) {
  %y = math.exp %x : tensor<8x6xf32>
  return %y : tensor<8x6xf32>
}
