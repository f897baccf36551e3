// Products of rows that all devices gathered count those of a device's own
// groups, two of the eight that the rows are divided among, in front of the loss
// and behind it; beside them all that there are.
//
// RUN: shoalc %s --emit=summary -o - | FileCheck %s --check-prefix=SUMMARY
// RUN: shoalc %s -o %t --stats %t.json
// RUN: FileCheck %s --check-prefix=STATS < %t.json

// Of 12 rows of 8 by 5, twice: a quarter of 1,920 operations.
// SUMMARY: operations on a device, 480 of them in products
// STATS: "flops_per_device": [[#FLOPS:]],
// STATS: "most_flops_per_device": [[#FLOPS+1440]],

shoal.mesh @mesh = <["x" = 4]>

func.func @f(%x: tensor<3x8xf32>, %w: tensor<2x8x5xf32>, %v: tensor<2x5x8xf32>, %sizes: tensor<8xi32>)
    -> tensor<12x8xf32> attributes {shoal.spmd} {
  %rows = spmd.all_gather @mesh [{"x"}, {}] %x : tensor<3x8xf32> -> tensor<12x8xf32>
  %all_ends = shoal.cumulative sum %sizes dim = 0 : tensor<8xi32>
  %all_begins = arith.subi %all_ends, %sizes : tensor<8xi32>
  %ends = spmd.all_slice @mesh [{"x"}] %all_ends : tensor<8xi32> -> tensor<2xi32>
  %begins = spmd.all_slice @mesh [{"x"}] %all_begins : tensor<8xi32> -> tensor<2xi32>
  %y = shoal.ragged_einsum "TM,EMH,E->TH" rows "T" %rows, %w groups %begins, %ends
     : (tensor<12x8xf32>, tensor<2x8x5xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<12x5xf32>
  %z = shoal.ragged_einsum "TH,EHM,E->TM" rows "T" %y, %v groups %begins, %ends
     : (tensor<12x5xf32>, tensor<2x5x8xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<12x8xf32>
  return %z : tensor<12x8xf32>
}

// Where groups themselves are split the op says how many there are, and nothing
// counts twice: of eight groups a device has two, and a quarter of 960.
//
// RUN: shoalc %S/Inputs/ragged-groups.mlir --emit=summary -o - | FileCheck %s --check-prefix=SPLIT

// SPLIT: operations on a device, 240 of them in products (1.00 times

// And where sums of the groups' sizes are split, of parts of experts by which
// products have a dimension: a device adds what devices before it have.
//
// RUN: shoalc %S/Inputs/ragged-parts.mlir --emit=summary -o - | FileCheck %s --check-prefix=PARTS

// PARTS: operations on a device, 240 of them in products, 968 where all rows
