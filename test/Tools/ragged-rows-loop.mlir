// Rows that a loop keeps, and another one reads, as a backward pass does, are those that came: of the 12 that there is room for 4 on average.
//
// RUN: shoalc %s --emit=summary -o - | FileCheck %s

// CHECK: arithmetic: {{[0-9,]+}} operations on a device, 640 of them in products

shoal.mesh @mesh = <["x" = 3]>

func.func @f(%x: tensor<4x8xf32>, %room: tensor<12x8xf32>, %w: tensor<2x8x5xf32>, %from: tensor<3xi32>,
             %count: tensor<3xi32>, %to: tensor<3xi32>, %come: tensor<3xi32>, %begins: tensor<2xi32>,
             %ends: tensor<2xi32>, %y0: tensor<12x5xf32>) -> tensor<12x5xf32> attributes {shoal.spmd} {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %two = arith.constant dense<2> : tensor<i32>
  %n:2 = shoal.while (%i = %zero, %kept = %room) : tensor<i32>, tensor<12x8xf32> cond {
    %more = arith.cmpi slt, %i, %two : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %rows = spmd.ragged_all_to_all @mesh {"x"} %x into %kept send(%from, %count) to(%to) receive(%come)
       : tensor<4x8xf32> into tensor<12x8xf32>, tensor<3xi32>
    %negated = arith.negf %rows : tensor<12x8xf32>
    %next = arith.addi %i, %one : tensor<i32>
    shoal.yield %next, %negated : tensor<i32>, tensor<12x8xf32>
  }
  %m:2 = shoal.while (%i = %zero, %sum = %y0) : tensor<i32>, tensor<12x5xf32> cond {
    %more = arith.cmpi slt, %i, %two : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %y = shoal.ragged_einsum "TM,EMH,E->TH" rows "T" %n#1, %w groups %begins, %ends
       : (tensor<12x8xf32>, tensor<2x8x5xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<12x5xf32>
    %both = arith.addf %sum, %y : tensor<12x5xf32>
    %next = arith.addi %i, %one : tensor<i32>
    shoal.yield %next, %both : tensor<i32>, tensor<12x5xf32>
  }
  return %m#1 : tensor<12x5xf32>
}
