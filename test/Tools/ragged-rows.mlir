// Products of rows that a ragged all-to-all brings count those that come where
// each device gets as many, as bytes do, and beside them all that there is room
// for: 12 of which 4 come on average.
//
// RUN: shoalc %s --emit=summary -o - | FileCheck %s --check-prefix=SUMMARY
// RUN: shoalc %s -o %t --stats %t.json
// RUN: FileCheck %s --check-prefix=STATS < %t.json

// SUMMARY: arithmetic: {{[0-9,]+}} operations on a device, 320 of them in products, {{[0-9,]+}} where all rows come that buffers have room for
// STATS: "flops_per_device": [[#FLOPS:]],
// STATS: "most_flops_per_device": [[#FLOPS+640]],

shoal.mesh @mesh = <["x" = 3]>

func.func @f(%x: tensor<4x8xf32>, %room: tensor<12x8xf32>, %w: tensor<2x8x5xf32>, %from: tensor<3xi32>,
             %count: tensor<3xi32>, %to: tensor<3xi32>, %come: tensor<3xi32>, %begins: tensor<2xi32>,
             %ends: tensor<2xi32>) -> tensor<12x5xf32> attributes {shoal.spmd} {
  %rows = spmd.ragged_all_to_all @mesh {"x"} %x into %room send(%from, %count) to(%to) receive(%come)
     : tensor<4x8xf32> into tensor<12x8xf32>, tensor<3xi32>
  %negated = arith.negf %rows : tensor<12x8xf32>
  %y = shoal.ragged_einsum "TM,EMH,E->TH" rows "T" %negated, %w groups %begins, %ends
     : (tensor<12x8xf32>, tensor<2x8x5xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<12x5xf32>
  return %y : tensor<12x5xf32>
}
