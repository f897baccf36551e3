// What fusion of elementwise ops must keep. Results are compared with the
// interpreter's, byte by byte: only exact operations here.
//
// RUN: split-file %s %t
// RUN: shoalc %t/element.mlir -o %t/element
// RUN: %t/element --random-inputs=1 --output-dir %t/element.out
// RUN: shoal-run %t/element.mlir --random-inputs=1 --output-dir %t/element.ref
// RUN: cmp %t/element.out/result0.npy %t/element.ref/result0.npy
// RUN: cmp %t/element.out/result1.npy %t/element.ref/result1.npy
//
// RUN: shoalc %t/product.mlir -o %t/product
// RUN: %t/product --random-inputs=1 --output-dir %t/product.out
// RUN: shoal-run %t/product.mlir --random-inputs=1 --output-dir %t/product.ref
// RUN: cmp %t/product.out/result0.npy %t/product.ref/result0.npy
//
// RUN: shoalc %t/random.mlir -o %t/random
// RUN: %t/random --random-inputs=1 --output-dir %t/random.out
// RUN: shoal-run %t/random.mlir --random-inputs=1 --output-dir %t/random.ref
// RUN: cmp %t/random.out/result0.npy %t/random.ref/result0.npy

// One reader takes a single element, another the whole value.
//--- element.mlir
func.func @f(%k: tensor<2xi32>) -> (tensor<1xi32>, tensor<2xi32>) {
  %c = arith.constant dense<[0, 1]> : tensor<2xi32>
  %0 = arith.addi %k, %c : tensor<2xi32>
  %1 = shoal.slice %0 starts = [1] limits = [2] strides = [1] : tensor<2xi32> -> tensor<1xi32>
  %2 = arith.muli %0, %k : tensor<2xi32>
  return %1, %2 : tensor<1xi32>, tensor<2xi32>
}

// A product without a sum does not read its uninitialised output.
//--- product.mlir
func.func @f(%a: tensor<2x8x4xi32>, %b: tensor<2x8x3xi32>) -> tensor<2x8x4x3xi32> {
  %0 = shoal.einsum "GSE,GSC->GSEC" %a, %b : (tensor<2x8x4xi32>, tensor<2x8x3xi32>) -> tensor<2x8x4x3xi32>
  return %0 : tensor<2x8x4x3xi32>
}

// Each of 20 rounds uses the last one's words twice: bodies that do not share
// would grow to 2^20.
//--- random.mlir
func.func @f(%k: tensor<2xi32>) -> tensor<8x16xf32> {
  %0 = shoal.random uniform %k : tensor<2xi32> -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
