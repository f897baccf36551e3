// A block of a Transformer over data, sequence and model axes, with a loop.
shoal.mesh @cube = <["data" = 2, "seq" = 2, "model" = 4]>

func.func @three_axes(
    %x: tensor<8x64x32xf32> {shoal.name = "x", shoal.sharding = #shoal.sharding<@cube, [{"data"}, {"seq"}, {}]>},
    %wi: tensor<32x128xf32> {shoal.name = "wi", shoal.sharding = #shoal.sharding<@cube, [{}, {"model"}]>},
    %wo: tensor<128x32xf32> {shoal.name = "wo", shoal.sharding = #shoal.sharding<@cube, [{"model"}, {}]>})
    -> (tensor<8x64x32xf32> {shoal.name = "y", shoal.sharding = #shoal.sharding<@cube, [{"data"}, {"seq"}, {"model"}]>}) {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %limit = arith.constant dense<3> : tensor<i32>
  %r:2 = shoal.while (%i = %zero, %a = %x) : tensor<i32>, tensor<8x64x32xf32> cond {
    %c = arith.cmpi slt, %i, %limit : tensor<i32>
    shoal.yield %c : tensor<i1>
  } do {
    %h = shoal.einsum "bsm,mh->bsh" %a, %wi : (tensor<8x64x32xf32>, tensor<32x128xf32>) -> tensor<8x64x128xf32>
    %g = shoal.relu %h : tensor<8x64x128xf32>
    %o = shoal.einsum "bsh,hm->bsm" %g, %wo : (tensor<8x64x128xf32>, tensor<128x32xf32>) -> tensor<8x64x32xf32>
    %n = arith.addf %a, %o : tensor<8x64x32xf32>
    %j = arith.addi %i, %one : tensor<i32>
    shoal.yield %j, %n : tensor<i32>, tensor<8x64x32xf32>
  }
  return %r#1 : tensor<8x64x32xf32>
}
