// Products of groups of rows: four ranks against the interpreter, in the types
// that products accumulate in another one, groups that overlap, and results
// whose rows are not the outermost dimension.
//
// REQUIRES: mpi
// RUN: rm -rf %t && mkdir %t
// RUN: shoalc %s -o %t/f
// RUN: %mpirun -n 4 %t/f --random-inputs=1 --output-dir %t/actual
// RUN: shoal-run %s --devices=0 --random-inputs=1 --output-dir %t/expected
// RUN: diff -r %t/actual %t/expected

shoal.mesh @mesh = <["x" = 2, "y" = 2]>

func.func @f(
    %x: tensor<13x8xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %w: tensor<3x8x5xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {}, {}]>})
    -> (tensor<13x5xbf16>, tensor<13x5xf32>, tensor<5x13xf32>, tensor<13x5xf64>) {
  // Small whole numbers, so that all sums are exact.
  %three = arith.constant dense<3> : tensor<13x8xi32>
  %two = arith.constant dense<2> : tensor<3x8x5xi32>
  %xi = arith.remsi %x, %three : tensor<13x8xi32>
  %wi = arith.remsi %w, %two : tensor<3x8x5xi32>
  %xh = arith.sitofp %xi : tensor<13x8xi32> to tensor<13x8xbf16>
  %wh = arith.sitofp %wi : tensor<3x8x5xi32> to tensor<3x8x5xbf16>
  %xf = arith.sitofp %xi : tensor<13x8xi32> to tensor<13x8xf32>
  %wf = arith.sitofp %wi : tensor<3x8x5xi32> to tensor<3x8x5xf32>
  %begins = arith.constant dense<[0, 2, 9]> : tensor<3xi32>
  %ends = arith.constant dense<[5, 7, 40]> : tensor<3xi32>
  %a = shoal.ragged_einsum "TM,EMH,E->TH" rows "T" %xh, %wh groups %begins, %ends : (tensor<13x8xbf16>, tensor<3x8x5xbf16>, tensor<3xi32>, tensor<3xi32>) -> tensor<13x5xbf16>
  %b = shoal.ragged_einsum "TM,EMH,E->TH" rows "T" %xh, %wh groups %begins, %ends : (tensor<13x8xbf16>, tensor<3x8x5xbf16>, tensor<3xi32>, tensor<3xi32>) -> tensor<13x5xf32>
  %sizes = arith.constant dense<[5, 0, 7]> : tensor<3xi64>
  %c = shoal.ragged_dot "TM,EMH,E->HT" rows "T" %xf, %wf sizes %sizes : (tensor<13x8xf32>, tensor<3x8x5xf32>, tensor<3xi64>) -> tensor<5x13xf32>
  %d = shoal.ragged_dot "TM,EMH,E->TH" rows "T" %xf, %wf sizes %sizes : (tensor<13x8xf32>, tensor<3x8x5xf32>, tensor<3xi64>) -> tensor<13x5xf64>
  return %a, %b, %c, %d : tensor<13x5xbf16>, tensor<13x5xf32>, tensor<5x13xf32>, tensor<13x5xf64>
}
