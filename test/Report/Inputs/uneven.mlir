// 10 rows on 4 devices: 3, 3, 3, 1; and a name that ends a script.
shoal.mesh @mesh = <["</script><b>" = 4]>

func.func @uneven(
    %x: tensor<10x6xf32> {shoal.name = "<!--<script>alert(1)", shoal.sharding = #shoal.sharding<@mesh, [{"</script><b>"}, {}]>})
    -> (tensor<6x10xf32> {shoal.name = "y\22<!--", shoal.sharding = #shoal.sharding<@mesh, [{"</script><b>"}, {}]>}) {
  %y = shoal.transpose %x permutation = [1, 0] : tensor<10x6xf32> -> tensor<6x10xf32>
  return %y : tensor<6x10xf32>
}
