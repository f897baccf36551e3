// Megatron attention, data 4 x tensor 4: heads split over tensor by columns of
// the projections, rows of the output projection: one all_reduce over tensor.
//
// RUN: shoal-opt %s --shoal-partition | FileCheck %s

// CHECK-NOT: spmd.{{all_|reduce_scatter|collective_permute}}
// CHECK: spmd.all_reduce sum @mesh {"tensor"} {{.*}} : tensor<2x32x64xf32>
// CHECK-NOT: spmd.{{all_|reduce_scatter|collective_permute}}

shoal.mesh @mesh = <["data" = 4, "tensor" = 4]>

func.func @attention(%x: tensor<8x32x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"data"}, {}, {}]>},
    %wq: tensor<64x8x16xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"tensor"}, {}]>}, %wk: tensor<64x8x16xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"tensor"}, {}]>}, %wv: tensor<64x8x16xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"tensor"}, {}]>},
    %wo: tensor<8x16x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"tensor"}, {}, {}]>}) -> (tensor<8x32x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"data"}, {}, {}]>}) {
  %q = shoal.einsum "BSM,MND->BSND" %x, %wq : (tensor<8x32x64xf32>, tensor<64x8x16xf32>) -> tensor<8x32x8x16xf32>
  %k = shoal.einsum "BSM,MND->BSND" %x, %wk : (tensor<8x32x64xf32>, tensor<64x8x16xf32>) -> tensor<8x32x8x16xf32>
  %v = shoal.einsum "BSM,MND->BSND" %x, %wv : (tensor<8x32x64xf32>, tensor<64x8x16xf32>) -> tensor<8x32x8x16xf32>
  %s = shoal.einsum "BSND,BTND->BNST" %q, %k : (tensor<8x32x8x16xf32>, tensor<8x32x8x16xf32>) -> tensor<8x8x32x32xf32>
  %p = shoal.softmax %s {axis = 3} : tensor<8x8x32x32xf32>
  %o = shoal.einsum "BNST,BTND->BSND" %p, %v : (tensor<8x8x32x32xf32>, tensor<8x32x8x16xf32>) -> tensor<8x32x8x16xf32>
  %y = shoal.einsum "BSND,NDM->BSM" %o, %wo : (tensor<8x32x8x16xf32>, tensor<8x16x64xf32>) -> tensor<8x32x64xf32>
  return %y : tensor<8x32x64xf32>
}
