// 2048 devices.
shoal.mesh @pod = <["data" = 128, "model" = 16]>

func.func @many_devices(
    %x: tensor<4096x1024xf32> {shoal.name = "x", shoal.sharding = #shoal.sharding<@pod, [{"data"}, {}]>},
    %w: tensor<1024x8192xf32> {shoal.name = "w", shoal.sharding = #shoal.sharding<@pod, [{"data"}, {"model"}]>})
    -> (tensor<4096x8192xf32> {shoal.name = "y", shoal.sharding = #shoal.sharding<@pod, [{"data"}, {"model"}]>},
        tensor<f32> {shoal.name = "loss"}) {
  %y = shoal.einsum "bm,mh->bh" %x, %w : (tensor<4096x1024xf32>, tensor<1024x8192xf32>) -> tensor<4096x8192xf32>
  %l = shoal.reduce sum %y dims = [0, 1] : tensor<4096x8192xf32> -> tensor<f32>
  return %y, %l : tensor<4096x8192xf32>, tensor<f32>
}
