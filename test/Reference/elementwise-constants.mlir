// RUN: shoal-run %s --print | FileCheck %s

func.func @main() -> (
    tensor<2x2xf32> {shoal.name = "dense"}, tensor<3xbf16> {shoal.name = "splat_constant"},
    tensor<2xi1> {shoal.name = "bits"}, tensor<3xi32> {shoal.name = "resource"},
    tensor<2x0xf32> {shoal.name = "no_rows"}, f32 {shoal.name = "scalar"},
    tensor<2xf32> {shoal.name = "splat"}, tensor<2xf32> {shoal.name = "empty"},
    tensor<2xi16> {shoal.name = "empty_integers"}) {
  // CHECK{LITERAL}: dense: tensor<2x2xf32> = [[1, 2], [3, nan]]
  %dense = arith.constant dense<[[1.0, 2.0], [3.0, 0x7FC00000]]> : tensor<2x2xf32>
  // CHECK: splat_constant: tensor<3xbf16> = [1.5, 1.5, 1.5]
  %splat_constant = arith.constant dense<1.5> : tensor<3xbf16>
  // CHECK: bits: tensor<2xi1> = [1, 0]
  %bits = arith.constant dense<[true, false]> : tensor<2xi1>
  // CHECK: resource: tensor<3xi32> = [1, 2, -1]
  %resource = arith.constant dense_resource<numbers> : tensor<3xi32>
  // CHECK{LITERAL}: no_rows: tensor<2x0xf32> = [[], []]
  %no_rows = arith.constant dense<> : tensor<2x0xf32>
  // CHECK: scalar: tensor<f32> = 2.5
  %scalar = arith.constant 2.5 : f32
  // CHECK: splat: tensor<2xf32> = [2.5, 2.5]
  %splat = tensor.splat %scalar : tensor<2xf32>
  // What is unspecified stands out: NaN, and the bytes 0x5A (0x5A5A = 23130).
  // CHECK: empty: tensor<2xf32> = [nan, nan]
  %empty = tensor.empty() : tensor<2xf32>
  // CHECK: empty_integers: tensor<2xi16> = [23130, 23130]
  %empty_integers = tensor.empty() : tensor<2xi16>
  return %dense, %splat_constant, %bits, %resource, %no_rows, %scalar, %splat, %empty, %empty_integers
    : tensor<2x2xf32>, tensor<3xbf16>, tensor<2xi1>, tensor<3xi32>, tensor<2x0xf32>, f32, tensor<2xf32>, tensor<2xf32>, tensor<2xi16>
}

{-#
  dialect_resources: {
    builtin: {
      numbers: "0x040000000100000002000000FFFFFFFF"
    }
  }
#-}
