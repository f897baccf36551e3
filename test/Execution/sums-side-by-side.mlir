// Sums of few and of many elements side by side, fused and not, beside the
// interpreter's. Of whole numbers, so that each order gives the same bits.
//
// RUN: shoalc %s -o %t
// RUN: %t --random-inputs=1 --output-dir %t.out
// RUN: shoal-run %s --random-inputs=1 --output-dir %t.ref
// RUN: cmp %t.out/result0.npy %t.ref/result0.npy
// RUN: cmp %t.out/result1.npy %t.ref/result1.npy
// RUN: cmp %t.out/result2.npy %t.ref/result2.npy
// RUN: cmp %t.out/result3.npy %t.ref/result3.npy
shoal.mesh @mesh = <["d" = 1]>
func.func @main(%a: tensor<1037x4xi8>, %b: tensor<9x137x3x2xi8>, %c: tensor<77x20xi8>, %d: tensor<1037x300xi8>)
    -> (tensor<4xf32>, tensor<9x2x3xf32>, tensor<20xf32>, tensor<300xf32>) {
  %af = arith.sitofp %a : tensor<1037x4xi8> to tensor<1037x4xf32>
  %as = shoal.reduce sum %af dims = [0] : tensor<1037x4xf32> -> tensor<4xf32>
  %bf = arith.sitofp %b : tensor<9x137x3x2xi8> to tensor<9x137x3x2xf32>
  %bt = shoal.transpose %bf permutation = [0, 1, 3, 2] : tensor<9x137x3x2xf32> -> tensor<9x137x2x3xf32>
  %bs = shoal.reduce sum %bt dims = [1] : tensor<9x137x2x3xf32> -> tensor<9x2x3xf32>
  %cf = arith.sitofp %c : tensor<77x20xi8> to tensor<77x20xf32>
  %cs = shoal.reduce sum %cf dims = [0] : tensor<77x20xf32> -> tensor<20xf32>
  %df = arith.sitofp %d : tensor<1037x300xi8> to tensor<1037x300xf32>
  %ds = shoal.reduce sum %df dims = [0] : tensor<1037x300xf32> -> tensor<300xf32>
  return %as, %bs, %cs, %ds : tensor<4xf32>, tensor<9x2x3xf32>, tensor<20xf32>, tensor<300xf32>
}
