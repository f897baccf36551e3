// RUN: shoal-run %s --random-inputs=3 --combine-bytes=0 --compare | FileCheck %s

// 7 x 5 elements, from every layout over two axes to every other, through an
// elementwise op, a transpose and a matrix product.
// CHECK-NOT: too far apart
// CHECK: result60: {{.*}}: ok

shoal.mesh @mesh = <["x" = 2, "y" = 2]>

func.func @main(
    %transpose_x_y_tox_y__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
    %reshard_x_y_tox_y__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
    %einsum_x_y_tox_y__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>}, %einsum_x_y_tox_y__b: tensor<5x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
    %transpose_x_y_toy_x__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
    %reshard_x_y_toy_x__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
    %einsum_x_y_toy_x__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>}, %einsum_x_y_toy_x__b: tensor<5x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
    %transpose_x_y_to_x__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
    %reshard_x_y_to_x__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
    %einsum_x_y_to_x__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>}, %einsum_x_y_to_x__b: tensor<5x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
    %transpose_x_y_toyx___a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
    %reshard_x_y_toyx___a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
    %einsum_x_y_toyx___a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>}, %einsum_x_y_toyx___b: tensor<5x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
    %transpose_x_y_to___a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
    %reshard_x_y_to___a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
    %einsum_x_y_to___a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>}, %einsum_x_y_to___b: tensor<5x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
    %transpose_xy__tox_y__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x","y"}, {}]>},
    %reshard_xy__tox_y__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x","y"}, {}]>},
    %einsum_xy__tox_y__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x","y"}, {}]>}, %einsum_xy__tox_y__b: tensor<5x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x","y"}, {}]>},
    %transpose_xy__toy_x__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x","y"}, {}]>},
    %reshard_xy__toy_x__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x","y"}, {}]>},
    %einsum_xy__toy_x__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x","y"}, {}]>}, %einsum_xy__toy_x__b: tensor<5x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x","y"}, {}]>},
    %transpose_xy__to_x__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x","y"}, {}]>},
    %reshard_xy__to_x__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x","y"}, {}]>},
    %einsum_xy__to_x__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x","y"}, {}]>}, %einsum_xy__to_x__b: tensor<5x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x","y"}, {}]>},
    %transpose_xy__toyx___a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x","y"}, {}]>},
    %reshard_xy__toyx___a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x","y"}, {}]>},
    %einsum_xy__toyx___a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x","y"}, {}]>}, %einsum_xy__toyx___b: tensor<5x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x","y"}, {}]>},
    %transpose_xy__to___a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x","y"}, {}]>},
    %reshard_xy__to___a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x","y"}, {}]>},
    %einsum_xy__to___a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x","y"}, {}]>}, %einsum_xy__to___b: tensor<5x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x","y"}, {}]>},
    %transpose__yx_tox_y__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y","x"}]>},
    %reshard__yx_tox_y__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y","x"}]>},
    %einsum__yx_tox_y__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y","x"}]>}, %einsum__yx_tox_y__b: tensor<5x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y","x"}]>},
    %transpose__yx_toy_x__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y","x"}]>},
    %reshard__yx_toy_x__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y","x"}]>},
    %einsum__yx_toy_x__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y","x"}]>}, %einsum__yx_toy_x__b: tensor<5x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y","x"}]>},
    %transpose__yx_to_x__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y","x"}]>},
    %reshard__yx_to_x__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y","x"}]>},
    %einsum__yx_to_x__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y","x"}]>}, %einsum__yx_to_x__b: tensor<5x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y","x"}]>},
    %transpose__yx_toyx___a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y","x"}]>},
    %reshard__yx_toyx___a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y","x"}]>},
    %einsum__yx_toyx___a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y","x"}]>}, %einsum__yx_toyx___b: tensor<5x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y","x"}]>},
    %transpose__yx_to___a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y","x"}]>},
    %reshard__yx_to___a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y","x"}]>},
    %einsum__yx_to___a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y","x"}]>}, %einsum__yx_to___b: tensor<5x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y","x"}]>},
    %transpose_y__tox_y__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {}]>},
    %reshard_y__tox_y__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {}]>},
    %einsum_y__tox_y__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {}]>}, %einsum_y__tox_y__b: tensor<5x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {}]>},
    %transpose_y__toy_x__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {}]>},
    %reshard_y__toy_x__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {}]>},
    %einsum_y__toy_x__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {}]>}, %einsum_y__toy_x__b: tensor<5x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {}]>},
    %transpose_y__to_x__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {}]>},
    %reshard_y__to_x__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {}]>},
    %einsum_y__to_x__a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {}]>}, %einsum_y__to_x__b: tensor<5x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {}]>},
    %transpose_y__toyx___a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {}]>},
    %reshard_y__toyx___a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {}]>},
    %einsum_y__toyx___a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {}]>}, %einsum_y__toyx___b: tensor<5x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {}]>},
    %transpose_y__to___a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {}]>},
    %reshard_y__to___a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {}]>},
    %einsum_y__to___a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {}]>}, %einsum_y__to___b: tensor<5x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {}]>},
    %random2_k: tensor<2xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>})
    -> (tensor<5x7xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
        tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
        tensor<7x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
        tensor<5x7xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {"x"}]>},
        tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {"x"}]>},
        tensor<7x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {"x"}]>},
        tensor<5x7xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
        tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
        tensor<7x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
        tensor<5x7xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y","x"}, {}]>},
        tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y","x"}, {}]>},
        tensor<7x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y","x"}, {}]>},
        tensor<5x7xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
        tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
        tensor<7x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
        tensor<5x7xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
        tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
        tensor<7x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
        tensor<5x7xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {"x"}]>},
        tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {"x"}]>},
        tensor<7x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {"x"}]>},
        tensor<5x7xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
        tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
        tensor<7x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
        tensor<5x7xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y","x"}, {}]>},
        tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y","x"}, {}]>},
        tensor<7x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y","x"}, {}]>},
        tensor<5x7xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
        tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
        tensor<7x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
        tensor<5x7xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
        tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
        tensor<7x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
        tensor<5x7xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {"x"}]>},
        tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {"x"}]>},
        tensor<7x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {"x"}]>},
        tensor<5x7xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
        tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
        tensor<7x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
        tensor<5x7xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y","x"}, {}]>},
        tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y","x"}, {}]>},
        tensor<7x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y","x"}, {}]>},
        tensor<5x7xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
        tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
        tensor<7x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
        tensor<5x7xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
        tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
        tensor<7x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
        tensor<5x7xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {"x"}]>},
        tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {"x"}]>},
        tensor<7x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {"x"}]>},
        tensor<5x7xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
        tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
        tensor<7x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
        tensor<5x7xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y","x"}, {}]>},
        tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y","x"}, {}]>},
        tensor<7x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y","x"}, {}]>},
        tensor<5x7xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
        tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
        tensor<7x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
        tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %transpose_x_y_tox_y__0 = shoal.transpose %transpose_x_y_tox_y__a permutation = [1, 0] : tensor<7x5xf32> -> tensor<5x7xf32>
  %reshard_x_y_tox_y__0 = arith.negf %reshard_x_y_tox_y__a : tensor<7x5xf32>
  %einsum_x_y_tox_y__0 = shoal.einsum "ij,jk->ik" %einsum_x_y_tox_y__a, %einsum_x_y_tox_y__b : (tensor<7x5xf32>, tensor<5x3xf32>) -> tensor<7x3xf32>
  %transpose_x_y_toy_x__0 = shoal.transpose %transpose_x_y_toy_x__a permutation = [1, 0] : tensor<7x5xf32> -> tensor<5x7xf32>
  %reshard_x_y_toy_x__0 = arith.negf %reshard_x_y_toy_x__a : tensor<7x5xf32>
  %einsum_x_y_toy_x__0 = shoal.einsum "ij,jk->ik" %einsum_x_y_toy_x__a, %einsum_x_y_toy_x__b : (tensor<7x5xf32>, tensor<5x3xf32>) -> tensor<7x3xf32>
  %transpose_x_y_to_x__0 = shoal.transpose %transpose_x_y_to_x__a permutation = [1, 0] : tensor<7x5xf32> -> tensor<5x7xf32>
  %reshard_x_y_to_x__0 = arith.negf %reshard_x_y_to_x__a : tensor<7x5xf32>
  %einsum_x_y_to_x__0 = shoal.einsum "ij,jk->ik" %einsum_x_y_to_x__a, %einsum_x_y_to_x__b : (tensor<7x5xf32>, tensor<5x3xf32>) -> tensor<7x3xf32>
  %transpose_x_y_toyx___0 = shoal.transpose %transpose_x_y_toyx___a permutation = [1, 0] : tensor<7x5xf32> -> tensor<5x7xf32>
  %reshard_x_y_toyx___0 = arith.negf %reshard_x_y_toyx___a : tensor<7x5xf32>
  %einsum_x_y_toyx___0 = shoal.einsum "ij,jk->ik" %einsum_x_y_toyx___a, %einsum_x_y_toyx___b : (tensor<7x5xf32>, tensor<5x3xf32>) -> tensor<7x3xf32>
  %transpose_x_y_to___0 = shoal.transpose %transpose_x_y_to___a permutation = [1, 0] : tensor<7x5xf32> -> tensor<5x7xf32>
  %reshard_x_y_to___0 = arith.negf %reshard_x_y_to___a : tensor<7x5xf32>
  %einsum_x_y_to___0 = shoal.einsum "ij,jk->ik" %einsum_x_y_to___a, %einsum_x_y_to___b : (tensor<7x5xf32>, tensor<5x3xf32>) -> tensor<7x3xf32>
  %transpose_xy__tox_y__0 = shoal.transpose %transpose_xy__tox_y__a permutation = [1, 0] : tensor<7x5xf32> -> tensor<5x7xf32>
  %reshard_xy__tox_y__0 = arith.negf %reshard_xy__tox_y__a : tensor<7x5xf32>
  %einsum_xy__tox_y__0 = shoal.einsum "ij,jk->ik" %einsum_xy__tox_y__a, %einsum_xy__tox_y__b : (tensor<7x5xf32>, tensor<5x3xf32>) -> tensor<7x3xf32>
  %transpose_xy__toy_x__0 = shoal.transpose %transpose_xy__toy_x__a permutation = [1, 0] : tensor<7x5xf32> -> tensor<5x7xf32>
  %reshard_xy__toy_x__0 = arith.negf %reshard_xy__toy_x__a : tensor<7x5xf32>
  %einsum_xy__toy_x__0 = shoal.einsum "ij,jk->ik" %einsum_xy__toy_x__a, %einsum_xy__toy_x__b : (tensor<7x5xf32>, tensor<5x3xf32>) -> tensor<7x3xf32>
  %transpose_xy__to_x__0 = shoal.transpose %transpose_xy__to_x__a permutation = [1, 0] : tensor<7x5xf32> -> tensor<5x7xf32>
  %reshard_xy__to_x__0 = arith.negf %reshard_xy__to_x__a : tensor<7x5xf32>
  %einsum_xy__to_x__0 = shoal.einsum "ij,jk->ik" %einsum_xy__to_x__a, %einsum_xy__to_x__b : (tensor<7x5xf32>, tensor<5x3xf32>) -> tensor<7x3xf32>
  %transpose_xy__toyx___0 = shoal.transpose %transpose_xy__toyx___a permutation = [1, 0] : tensor<7x5xf32> -> tensor<5x7xf32>
  %reshard_xy__toyx___0 = arith.negf %reshard_xy__toyx___a : tensor<7x5xf32>
  %einsum_xy__toyx___0 = shoal.einsum "ij,jk->ik" %einsum_xy__toyx___a, %einsum_xy__toyx___b : (tensor<7x5xf32>, tensor<5x3xf32>) -> tensor<7x3xf32>
  %transpose_xy__to___0 = shoal.transpose %transpose_xy__to___a permutation = [1, 0] : tensor<7x5xf32> -> tensor<5x7xf32>
  %reshard_xy__to___0 = arith.negf %reshard_xy__to___a : tensor<7x5xf32>
  %einsum_xy__to___0 = shoal.einsum "ij,jk->ik" %einsum_xy__to___a, %einsum_xy__to___b : (tensor<7x5xf32>, tensor<5x3xf32>) -> tensor<7x3xf32>
  %transpose__yx_tox_y__0 = shoal.transpose %transpose__yx_tox_y__a permutation = [1, 0] : tensor<7x5xf32> -> tensor<5x7xf32>
  %reshard__yx_tox_y__0 = arith.negf %reshard__yx_tox_y__a : tensor<7x5xf32>
  %einsum__yx_tox_y__0 = shoal.einsum "ij,jk->ik" %einsum__yx_tox_y__a, %einsum__yx_tox_y__b : (tensor<7x5xf32>, tensor<5x3xf32>) -> tensor<7x3xf32>
  %transpose__yx_toy_x__0 = shoal.transpose %transpose__yx_toy_x__a permutation = [1, 0] : tensor<7x5xf32> -> tensor<5x7xf32>
  %reshard__yx_toy_x__0 = arith.negf %reshard__yx_toy_x__a : tensor<7x5xf32>
  %einsum__yx_toy_x__0 = shoal.einsum "ij,jk->ik" %einsum__yx_toy_x__a, %einsum__yx_toy_x__b : (tensor<7x5xf32>, tensor<5x3xf32>) -> tensor<7x3xf32>
  %transpose__yx_to_x__0 = shoal.transpose %transpose__yx_to_x__a permutation = [1, 0] : tensor<7x5xf32> -> tensor<5x7xf32>
  %reshard__yx_to_x__0 = arith.negf %reshard__yx_to_x__a : tensor<7x5xf32>
  %einsum__yx_to_x__0 = shoal.einsum "ij,jk->ik" %einsum__yx_to_x__a, %einsum__yx_to_x__b : (tensor<7x5xf32>, tensor<5x3xf32>) -> tensor<7x3xf32>
  %transpose__yx_toyx___0 = shoal.transpose %transpose__yx_toyx___a permutation = [1, 0] : tensor<7x5xf32> -> tensor<5x7xf32>
  %reshard__yx_toyx___0 = arith.negf %reshard__yx_toyx___a : tensor<7x5xf32>
  %einsum__yx_toyx___0 = shoal.einsum "ij,jk->ik" %einsum__yx_toyx___a, %einsum__yx_toyx___b : (tensor<7x5xf32>, tensor<5x3xf32>) -> tensor<7x3xf32>
  %transpose__yx_to___0 = shoal.transpose %transpose__yx_to___a permutation = [1, 0] : tensor<7x5xf32> -> tensor<5x7xf32>
  %reshard__yx_to___0 = arith.negf %reshard__yx_to___a : tensor<7x5xf32>
  %einsum__yx_to___0 = shoal.einsum "ij,jk->ik" %einsum__yx_to___a, %einsum__yx_to___b : (tensor<7x5xf32>, tensor<5x3xf32>) -> tensor<7x3xf32>
  %transpose_y__tox_y__0 = shoal.transpose %transpose_y__tox_y__a permutation = [1, 0] : tensor<7x5xf32> -> tensor<5x7xf32>
  %reshard_y__tox_y__0 = arith.negf %reshard_y__tox_y__a : tensor<7x5xf32>
  %einsum_y__tox_y__0 = shoal.einsum "ij,jk->ik" %einsum_y__tox_y__a, %einsum_y__tox_y__b : (tensor<7x5xf32>, tensor<5x3xf32>) -> tensor<7x3xf32>
  %transpose_y__toy_x__0 = shoal.transpose %transpose_y__toy_x__a permutation = [1, 0] : tensor<7x5xf32> -> tensor<5x7xf32>
  %reshard_y__toy_x__0 = arith.negf %reshard_y__toy_x__a : tensor<7x5xf32>
  %einsum_y__toy_x__0 = shoal.einsum "ij,jk->ik" %einsum_y__toy_x__a, %einsum_y__toy_x__b : (tensor<7x5xf32>, tensor<5x3xf32>) -> tensor<7x3xf32>
  %transpose_y__to_x__0 = shoal.transpose %transpose_y__to_x__a permutation = [1, 0] : tensor<7x5xf32> -> tensor<5x7xf32>
  %reshard_y__to_x__0 = arith.negf %reshard_y__to_x__a : tensor<7x5xf32>
  %einsum_y__to_x__0 = shoal.einsum "ij,jk->ik" %einsum_y__to_x__a, %einsum_y__to_x__b : (tensor<7x5xf32>, tensor<5x3xf32>) -> tensor<7x3xf32>
  %transpose_y__toyx___0 = shoal.transpose %transpose_y__toyx___a permutation = [1, 0] : tensor<7x5xf32> -> tensor<5x7xf32>
  %reshard_y__toyx___0 = arith.negf %reshard_y__toyx___a : tensor<7x5xf32>
  %einsum_y__toyx___0 = shoal.einsum "ij,jk->ik" %einsum_y__toyx___a, %einsum_y__toyx___b : (tensor<7x5xf32>, tensor<5x3xf32>) -> tensor<7x3xf32>
  %transpose_y__to___0 = shoal.transpose %transpose_y__to___a permutation = [1, 0] : tensor<7x5xf32> -> tensor<5x7xf32>
  %reshard_y__to___0 = arith.negf %reshard_y__to___a : tensor<7x5xf32>
  %einsum_y__to___0 = shoal.einsum "ij,jk->ik" %einsum_y__to___a, %einsum_y__to___b : (tensor<7x5xf32>, tensor<5x3xf32>) -> tensor<7x3xf32>
  %random2_0 = shoal.random uniform %random2_k : tensor<2xi32> -> tensor<7x5xf32>
  return %transpose_x_y_tox_y__0,
    %reshard_x_y_tox_y__0,
    %einsum_x_y_tox_y__0,
    %transpose_x_y_toy_x__0,
    %reshard_x_y_toy_x__0,
    %einsum_x_y_toy_x__0,
    %transpose_x_y_to_x__0,
    %reshard_x_y_to_x__0,
    %einsum_x_y_to_x__0,
    %transpose_x_y_toyx___0,
    %reshard_x_y_toyx___0,
    %einsum_x_y_toyx___0,
    %transpose_x_y_to___0,
    %reshard_x_y_to___0,
    %einsum_x_y_to___0,
    %transpose_xy__tox_y__0,
    %reshard_xy__tox_y__0,
    %einsum_xy__tox_y__0,
    %transpose_xy__toy_x__0,
    %reshard_xy__toy_x__0,
    %einsum_xy__toy_x__0,
    %transpose_xy__to_x__0,
    %reshard_xy__to_x__0,
    %einsum_xy__to_x__0,
    %transpose_xy__toyx___0,
    %reshard_xy__toyx___0,
    %einsum_xy__toyx___0,
    %transpose_xy__to___0,
    %reshard_xy__to___0,
    %einsum_xy__to___0,
    %transpose__yx_tox_y__0,
    %reshard__yx_tox_y__0,
    %einsum__yx_tox_y__0,
    %transpose__yx_toy_x__0,
    %reshard__yx_toy_x__0,
    %einsum__yx_toy_x__0,
    %transpose__yx_to_x__0,
    %reshard__yx_to_x__0,
    %einsum__yx_to_x__0,
    %transpose__yx_toyx___0,
    %reshard__yx_toyx___0,
    %einsum__yx_toyx___0,
    %transpose__yx_to___0,
    %reshard__yx_to___0,
    %einsum__yx_to___0,
    %transpose_y__tox_y__0,
    %reshard_y__tox_y__0,
    %einsum_y__tox_y__0,
    %transpose_y__toy_x__0,
    %reshard_y__toy_x__0,
    %einsum_y__toy_x__0,
    %transpose_y__to_x__0,
    %reshard_y__to_x__0,
    %einsum_y__to_x__0,
    %transpose_y__toyx___0,
    %reshard_y__toyx___0,
    %einsum_y__toyx___0,
    %transpose_y__to___0,
    %reshard_y__to___0,
    %einsum_y__to___0,
    %random2_0
    : tensor<5x7xf32>,
      tensor<7x5xf32>,
      tensor<7x3xf32>,
      tensor<5x7xf32>,
      tensor<7x5xf32>,
      tensor<7x3xf32>,
      tensor<5x7xf32>,
      tensor<7x5xf32>,
      tensor<7x3xf32>,
      tensor<5x7xf32>,
      tensor<7x5xf32>,
      tensor<7x3xf32>,
      tensor<5x7xf32>,
      tensor<7x5xf32>,
      tensor<7x3xf32>,
      tensor<5x7xf32>,
      tensor<7x5xf32>,
      tensor<7x3xf32>,
      tensor<5x7xf32>,
      tensor<7x5xf32>,
      tensor<7x3xf32>,
      tensor<5x7xf32>,
      tensor<7x5xf32>,
      tensor<7x3xf32>,
      tensor<5x7xf32>,
      tensor<7x5xf32>,
      tensor<7x3xf32>,
      tensor<5x7xf32>,
      tensor<7x5xf32>,
      tensor<7x3xf32>,
      tensor<5x7xf32>,
      tensor<7x5xf32>,
      tensor<7x3xf32>,
      tensor<5x7xf32>,
      tensor<7x5xf32>,
      tensor<7x3xf32>,
      tensor<5x7xf32>,
      tensor<7x5xf32>,
      tensor<7x3xf32>,
      tensor<5x7xf32>,
      tensor<7x5xf32>,
      tensor<7x3xf32>,
      tensor<5x7xf32>,
      tensor<7x5xf32>,
      tensor<7x3xf32>,
      tensor<5x7xf32>,
      tensor<7x5xf32>,
      tensor<7x3xf32>,
      tensor<5x7xf32>,
      tensor<7x5xf32>,
      tensor<7x3xf32>,
      tensor<5x7xf32>,
      tensor<7x5xf32>,
      tensor<7x3xf32>,
      tensor<5x7xf32>,
      tensor<7x5xf32>,
      tensor<7x3xf32>,
      tensor<5x7xf32>,
      tensor<7x5xf32>,
      tensor<7x3xf32>,
      tensor<7x5xf32>
}
