// RUN: shoal-run %s --print | FileCheck %s

func.func @main() -> (
    tensor<2x2xf32> {shoal.name = "product"}, tensor<2x2xf32> {shoal.name = "transposed"},
    tensor<2x2xf32> {shoal.name = "batch"}, tensor<2x2x2xf32> {shoal.name = "outer"},
    tensor<2xf32> {shoal.name = "row_sums"}, tensor<f32> {shoal.name = "trace"},
    tensor<2xf32> {shoal.name = "diagonal"}, tensor<2xf32> {shoal.name = "summed_in_one"},
    tensor<2x2x2xf32> {shoal.name = "batched"}, tensor<f32> {shoal.name = "dot"},
    tensor<f32> {shoal.name = "scalars"}, tensor<2x2xi8> {shoal.name = "integers"},
    tensor<2x2xi32> {shoal.name = "wider"}, tensor<bf16> {shoal.name = "rounds_once"},
    tensor<f32> {shoal.name = "bf16_to_f32"}, tensor<2xf32> {shoal.name = "zero_times_nan"},
    tensor<2x2xf32> {shoal.name = "nothing_to_sum"}) {
  %a = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = arith.constant dense<[[5.0, 6.0], [7.0, 8.0]]> : tensor<2x2xf32>
  %v = arith.constant dense<[10.0, 100.0]> : tensor<2xf32>
  // CHECK{LITERAL}: product: tensor<2x2xf32> = [[19, 22], [43, 50]]
  %product = shoal.einsum "ij,jk->ik" %a, %b : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  // (i, k) sums a[j][i] * b[k][j] over j.
  // CHECK{LITERAL}: transposed: tensor<2x2xf32> = [[23, 31], [34, 46]]
  %transposed = shoal.einsum "ji,kj->ik" %a, %b : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  // CHECK{LITERAL}: batch: tensor<2x2xf32> = [[5, 12], [21, 32]]
  %batch = shoal.einsum "ij,ij->ij" %a, %b : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  // CHECK{LITERAL}: outer: tensor<2x2x2xf32> = [[[10, 100], [30, 300]], [[20, 200], [40, 400]]]
  %outer = shoal.einsum "ij,k->jik" %a, %v : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2x2xf32>
  // CHECK: row_sums: tensor<2xf32> = [3, 7]
  %row_sums = shoal.einsum "ij->i" %a : (tensor<2x2xf32>) -> tensor<2xf32>
  // CHECK: trace: tensor<f32> = 5
  %trace = shoal.einsum "ii->" %a : (tensor<2x2xf32>) -> tensor<f32>
  // a[i][i] * v[i]
  // CHECK: diagonal: tensor<2xf32> = [10, 400]
  %diagonal = shoal.einsum "ii,i->i" %a, %v : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // (sum over j of a[i][j]) * v[i]
  // CHECK: summed_in_one: tensor<2xf32> = [30, 700]
  %summed_in_one = shoal.einsum "ij,i->i" %a, %v : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %c = arith.constant dense<[[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [2.0, 0.0]]]> : tensor<2x2x2xf32>
  // Batch letter e in the middle: the identity, and rows exchanged.
  // CHECK{LITERAL}: batched: tensor<2x2x2xf32> = [[[1, 2], [3, 4]], [[6, 5], [16, 14]]]
  %d = arith.constant dense<[[[1.0, 2.0], [3.0, 4.0]], [[8.0, 7.0], [6.0, 5.0]]]> : tensor<2x2x2xf32>
  %batched = shoal.einsum "eij,ejk->eik" %c, %d : (tensor<2x2x2xf32>, tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
  // CHECK: dot: tensor<f32> = 10100
  %dot = shoal.einsum "i,i->" %v, %v : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  // CHECK: scalars: tensor<f32> = 25
  %scalars = shoal.einsum ",->" %trace, %trace : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %i = arith.constant dense<[[10, 20], [-3, 1]]> : tensor<2x2xi8>
  // The square is [[40, 220], [-33, -59]]; 220 - 256 = -36.
  // CHECK{LITERAL}: integers: tensor<2x2xi8> = [[40, -36], [-33, -59]]
  %integers = shoal.einsum "ij,jk->ik" %i, %i : (tensor<2x2xi8>, tensor<2x2xi8>) -> tensor<2x2xi8>
  // CHECK{LITERAL}: wider: tensor<2x2xi32> = [[40, 220], [-33, -59]]
  %wider = shoal.einsum "ij,jk->ik" %i, %i : (tensor<2x2xi8>, tensor<2x2xi8>) -> tensor<2x2xi32>
  %fine = arith.constant dense<[256.0, 1.0, 1.0]> : tensor<3xbf16>
  %ones = arith.constant dense<1.0> : tensor<3xbf16>
  // CHECK: rounds_once: tensor<bf16> = 258
  %rounds_once = shoal.einsum "i,i->" %fine, %ones : (tensor<3xbf16>, tensor<3xbf16>) -> tensor<bf16>
  %odd = arith.constant dense<[256.0, 1.0]> : tensor<2xbf16>
  %two = arith.constant dense<1.0> : tensor<2xbf16>
  // CHECK: bf16_to_f32: tensor<f32> = 257
  %bf16_to_f32 = shoal.einsum "i,i->" %odd, %two : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<f32>
  // A mask of zeros does not hide a NaN.
  %mask = arith.constant dense<[[0.0, 1.0], [1.0, 1.0]]> : tensor<2x2xf32>
  %nan = arith.constant dense<[0x7FC00000, 1.0]> : tensor<2xf32>
  // CHECK: zero_times_nan: tensor<2xf32> = [nan, nan]
  %zero_times_nan = shoal.einsum "ij,j->i" %mask, %nan : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %none = arith.constant dense<> : tensor<2x0xf32>
  // CHECK{LITERAL}: nothing_to_sum: tensor<2x2xf32> = [[0, 0], [0, 0]]
  %nothing_to_sum = shoal.einsum "ij,kj->ik" %none, %none : (tensor<2x0xf32>, tensor<2x0xf32>) -> tensor<2x2xf32>
  return %product, %transposed, %batch, %outer, %row_sums, %trace, %diagonal, %summed_in_one, %batched, %dot, %scalars,
    %integers, %wider, %rounds_once, %bf16_to_f32, %zero_times_nan, %nothing_to_sum
    : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2x2xf32>, tensor<2xf32>, tensor<f32>, tensor<2xf32>, tensor<2xf32>, tensor<2x2x2xf32>, tensor<f32>, tensor<f32>,
      tensor<2x2xi8>, tensor<2x2xi32>, tensor<bf16>, tensor<f32>, tensor<2xf32>, tensor<2x2xf32>
}
