// A ragged all-to-all that says how many rows come on average: bytes and products
// count these, of 4 that a device may send and 12 that there is room for.
//
// RUN: shoalc %s --emit=summary -o - | FileCheck %s --check-prefix=SUMMARY

// SUMMARY: ragged_all_to_all {{.*}} 43
// SUMMARY: arithmetic: {{[0-9,]+}} operations on a device, 160 of them in products

shoal.mesh @mesh = <["x" = 3]>

func.func @f(%x: tensor<4x8xf32>, %room: tensor<12x8xf32>, %w: tensor<2x8x5xf32>, %from: tensor<3xi32>,
             %count: tensor<3xi32>, %to: tensor<3xi32>, %come: tensor<3xi32>, %begins: tensor<2xi32>,
             %ends: tensor<2xi32>) -> tensor<12x5xf32> attributes {shoal.spmd} {
  %rows = spmd.ragged_all_to_all @mesh {"x"} %x into %room send(%from, %count) to(%to) receive(%come)
     {mean_rows = 2 : i64} : tensor<4x8xf32> into tensor<12x8xf32>, tensor<3xi32>
  %y = shoal.ragged_einsum "TM,EMH,E->TH" rows "T" %rows, %w groups %begins, %ends
     : (tensor<12x8xf32>, tensor<2x8x5xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<12x5xf32>
  return %y : tensor<12x5xf32>
}
