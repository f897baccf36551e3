// The largest buffers where most is live, and what each could be replaced by: the first that is true of it.
//
// RUN: shoalc %s --entry=repeated --emit=summary -o - | FileCheck %s --check-prefix=REPEATED
// RUN: shoalc %s --entry=overwritten --emit=summary -o - | FileCheck %s --check-prefix=OVERWRITTEN
// RUN: shoalc %s --entry=products --emit=summary -o - | FileCheck %s --check-prefix=PRODUCTS
// RUN: shoalc %s --entry=copied --emit=summary -o - | FileCheck %s --check-prefix=COPIED
// RUN: shoalc %s --entry=donated --emit=summary -o - | FileCheck %s --check-prefix=DONATED
// RUN: shoalc %s --entry=gathered --emit=summary -o - | FileCheck %s --check-prefix=GATHERED
// RUN: shoalc %s --entry=integers --emit=summary -o - | FileCheck %s --check-prefix=INTEGERS
// RUN: shoalc %s --entry=repeated --emit=report -o %t.html --stats %t.json
// RUN: %python %shoal_src_root/test/python/support/report_page.py %t.html | FileCheck %s --check-prefix=DATA
// RUN: FileCheck %s --check-prefix=STATS < %t.json

shoal.mesh @mesh = <["a" = 2, "b" = 4]>

// REPEATED: the largest buffers there, and what each could be replaced by:
// REPEATED: 2,048 bytes, 8x64xf32, of math.exp at largest-buffers.mlir:[[#@LINE+6]]
// REPEATED-NEXT: computed again from input x: 512 operations (saves 2,048 bytes)
// DATA: ops [[EXP:[0-9]+]] {{.*}}math.exp
// DATA: largest {{.*}}"bytes": 2048, "made": "math.exp at largest-buffers.mlir:[[#@LINE+3]]", "op": [[EXP]], "replacement": "repeated", "saves": 2048, "text": "computed again from input x: 512 operations"
// STATS: "replacement": "repeated"
func.func @repeated(%x: tensor<64x64xf32> {shoal.name = "x"}, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = math.exp %x : tensor<64x64xf32>
  %1 = shoal.einsum "mk,kn->mn" %0, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = shoal.einsum "mk,kn->mn" %1, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = shoal.einsum "mk,kn->mn" %2, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %4 = arith.mulf %3, %0 : tensor<64x64xf32>
  return %4 : tensor<64x64xf32>
}

// What is donated may be written over: it is not there to compute from.
// OVERWRITTEN: the largest buffers there
// OVERWRITTEN: of math.exp at
// OVERWRITTEN-NEXT: bf16 instead of f32
// OVERWRITTEN-NOT: computed again
func.func @overwritten(%x: tensor<64x64xf32> {shoal.donated}, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = math.exp %x : tensor<64x64xf32>
  %1 = shoal.einsum "mk,kn->mn" %0, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = shoal.einsum "mk,kn->mn" %1, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = shoal.einsum "mk,kn->mn" %2, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %4 = arith.mulf %3, %0 : tensor<64x64xf32>
  return %4 : tensor<64x64xf32>
}

// PRODUCTS: of shoal.einsum at largest-buffers.mlir:[[#@LINE+3]]
// PRODUCTS-NEXT: computed again from input x, input w: {{[0-9,]+}} operations, {{[0-9]+}} % of the program's (saves 2,048 bytes)
func.func @products(%x: tensor<64x64xf32> {shoal.name = "x"}, %w: tensor<64x64xf32> {shoal.name = "w"}) -> tensor<64x64xf32> {
  %0 = shoal.einsum "mk,kn->mn" %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = shoal.einsum "mk,kn->mn" %0, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = shoal.einsum "mk,kn->mn" %1, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = shoal.einsum "mk,kn->mn" %2, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %4 = shoal.einsum "mk,kn->mn" %3, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %5 = arith.mulf %4, %0 : tensor<64x64xf32>
  return %5 : tensor<64x64xf32>
}

// COPIED: 16,384 bytes, 64x64xf32, of shoal.slice at
// COPIED-NEXT: read where input x is: the same elements (saves 16,384 bytes)
func.func @copied(%x: tensor<64x128xf32> {shoal.name = "x"}, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = shoal.slice %x starts = [0, 0] limits = [64, 128] strides = [1, 2] : tensor<64x128xf32> -> tensor<64x64xf32>
  %1 = shoal.einsum "mk,kn->mn" %0, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = shoal.einsum "mk,kn->mn" %1, %0 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = shoal.einsum "mk,kn->mn" %2, %0 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %3 : tensor<64x64xf32>
}

// DONATED: 8,192 bytes, 8x256xf32, of math.tanh at
// DONATED-NEXT: bf16 instead of f32 (saves 4,096 bytes)
// DONATED-NEXT: 2,048 bytes, 8x64xf32, of shoal.einsum at
// DONATED-NEXT: made in the memory of input x, were that donated (saves 2,048 bytes)
func.func @donated(%x: tensor<64x64xf32> {shoal.name = "x"}, %w: tensor<64x256xf32>, %v: tensor<256x64xf32>) -> tensor<64x64xf32> {
  %0 = shoal.einsum "mk,kn->mn" %x, %w : (tensor<64x64xf32>, tensor<64x256xf32>) -> tensor<64x256xf32>
  %1 = math.tanh %0 : tensor<64x256xf32>
  %2 = shoal.einsum "mk,kn->mn" %1, %v : (tensor<64x256xf32>, tensor<256x64xf32>) -> tensor<64x64xf32>
  return %2 : tensor<64x64xf32>
}

// GATHERED: 16,384 bytes, 64x64xf32, of spmd.all_gather at
// GATHERED-NEXT: gathered in 4 parts, one after the other, by the product that reads it (saves 12,288 bytes)
// GATHERED-NEXT: 4,096 bytes, 16x64xf32, of math.tanh at
// GATHERED-NEXT: split over "a", along which 2 devices hold the same (saves 2,048 bytes)
func.func @gathered(%x: tensor<32x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"a"}, {}]>},
                    %w: tensor<64x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"b"}, {}]>}) -> (tensor<32x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"a"}, {}]>}) {
  %0 = math.tanh %w : tensor<64x64xf32>
  %1 = shoal.sharding_constraint %0 <@mesh, [{"b"}, {}]> : tensor<64x64xf32>
  %2 = shoal.sharding_constraint %1 <@mesh, [{}, {}]> : tensor<64x64xf32>
  %3 = shoal.einsum "mk,kn->mn" %x, %2 : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %4 = shoal.sharding_constraint %3 <@mesh, [{"a"}, {}]> : tensor<32x64xf32>
  return %4 : tensor<32x64xf32>
}

// INTEGERS: 16,384 bytes, 64x64xi32, of shoal.sort at
// INTEGERS-NEXT: split over "b", along which 4 devices hold the same (saves 12,288 bytes)
// INTEGERS: bytes, {{[0-9]+}}xi8, of shoal.sort at
// INTEGERS-NEXT: nothing: what the op needs while it runs
func.func @integers(%x: tensor<64x64xi32>) -> tensor<64x64xi32> {
  %0 = shoal.sort %x dim = 1 : (tensor<64x64xi32>) -> tensor<64x64xi32>
  %1 = shoal.cumulative sum %0 dim = 0 : tensor<64x64xi32>
  %2 = shoal.sort %1 dim = 0 : (tensor<64x64xi32>) -> tensor<64x64xi32>
  %3 = arith.muli %2, %0 : tensor<64x64xi32>
  return %3 : tensor<64x64xi32>
}
