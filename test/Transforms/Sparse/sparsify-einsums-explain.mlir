// What is said of einsums: sparse, or dense and why.
//
// RUN: shoal-opt %s -split-input-file --shoal-sparsify-einsums=explain=true -verify-diagnostics -o /dev/null

func.func @sparse(%t: tensor<8xi32>, %x: tensor<1000x64xf32>) -> tensor<8x64xf32> {
  %i = shoal.iota dim = 1 : tensor<8x1000xi32>
  %b = shoal.broadcast_in_dim %t dims = [0] : tensor<8xi32> -> tensor<8x1000xi32>
  %m = arith.cmpi eq, %b, %i : tensor<8x1000xi32>
  %h = arith.uitofp %m : tensor<8x1000xi1> to tensor<8x1000xf32>
  // expected-remark @+1 {{sparse: einsum "TV,VM->TM": exceptions: 1, in dimensions of 1000; gather of 512 elements for 512,000 multiply-adds}}
  %y = shoal.einsum "TV,VM->TM" %h, %x : (tensor<8x1000xf32>, tensor<1000x64xf32>) -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// -----

func.func @too_small(%t: tensor<8xi32>, %x: tensor<16x64xf32>) -> tensor<8x64xf32> {
  %i = shoal.iota dim = 1 : tensor<8x16xi32>
  %b = shoal.broadcast_in_dim %t dims = [0] : tensor<8xi32> -> tensor<8x16xi32>
  %m = arith.cmpi eq, %b, %i : tensor<8x16xi32>
  %h = arith.uitofp %m : tensor<8x16xi1> to tensor<8x16xf32>
  // expected-remark @+1 {{dense: einsum "TV,VM->TM": gain 16.0 < 32.0}}
  %y = shoal.einsum "TV,VM->TM" %h, %x : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// -----

func.func @a_tensor_is_added(%t: tensor<8xi32>, %w: tensor<8x1000xf32>, %x: tensor<1000x64xf32>) -> tensor<8x64xf32> {
  %i = shoal.iota dim = 1 : tensor<8x1000xi32>
  %b = shoal.broadcast_in_dim %t dims = [0] : tensor<8xi32> -> tensor<8x1000xi32>
  %m = arith.cmpi eq, %b, %i : tensor<8x1000xi32>
  %h = arith.uitofp %m : tensor<8x1000xi1> to tensor<8x1000xf32>
  %s = arith.addf %h, %w : tensor<8x1000xf32>
  // expected-remark @+1 {{dense: einsum "TV,VM->TM": operand 0 has no form: arith.addf at }}
  %y = shoal.einsum "TV,VM->TM" %s, %x : (tensor<8x1000xf32>, tensor<1000x64xf32>) -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// -----

// A mask of masks and weights is never dearer, however short its rows, and what
// reads it is judged by itself.
func.func @a_mask_of_weights(%e: tensor<64x2xi32>, %c: tensor<64x2xi32>, %w: tensor<64x2xf32>, %x: tensor<4x64x64xf32>) -> tensor<64x64xf32> {
  %ei = shoal.iota dim = 2 : tensor<64x2x4xi32>
  %eb = shoal.broadcast_in_dim %e dims = [0, 1] : tensor<64x2xi32> -> tensor<64x2x4xi32>
  %em = arith.cmpi eq, %eb, %ei : tensor<64x2x4xi32>
  %eh = arith.uitofp %em : tensor<64x2x4xi1> to tensor<64x2x4xf32>
  %ci = shoal.iota dim = 2 : tensor<64x2x64xi32>
  %cb = shoal.broadcast_in_dim %c dims = [0, 1] : tensor<64x2xi32> -> tensor<64x2x64xi32>
  %cm = arith.cmpi eq, %cb, %ci : tensor<64x2x64xi32>
  %ch = arith.uitofp %cm : tensor<64x2x64xi1> to tensor<64x2x64xf32>
  %m = shoal.einsum "SKE,SKC->SKEC" %eh, %ch : (tensor<64x2x4xf32>, tensor<64x2x64xf32>) -> tensor<64x2x4x64xf32>
  // expected-remark @+1 {{sampled: einsum "SKEC,SK->SEC": exceptions: 2, in dimensions of 4 x 64 x 2; gather of 128 elements for 32,768 multiply-adds}}
  %s = shoal.einsum "SKEC,SK->SEC" %m, %w : (tensor<64x2x4x64xf32>, tensor<64x2xf32>) -> tensor<64x4x64xf32>
  // expected-remark @+1 {{sparse: einsum "SEC,ECM->SM": exceptions: 2, in dimensions of 4 x 64; gather of 8,192 elements for 1,048,576 multiply-adds}}
  %y = shoal.einsum "SEC,ECM->SM" %s, %x : (tensor<64x4x64xf32>, tensor<4x64x64xf32>) -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// A product that is read at 64 of 4,096 places is none, though each of these is
// one element: rows of 64 are what is read.
func.func @a_product_at_places(%t: tensor<64xi32>, %a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64xf32> {
  %i = shoal.iota dim = 1 : tensor<64x64xi32>
  %tb = shoal.broadcast_in_dim %t dims = [0] : tensor<64xi32> -> tensor<64x64xi32>
  %m = arith.cmpi eq, %tb, %i : tensor<64x64xi32>
  %h = arith.uitofp %m : tensor<64x64xi1> to tensor<64x64xf32>
  %p = shoal.einsum "SM,TM->ST" %a, %b : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  // expected-remark @+1 {{sparse: einsum "ST,ST->S": exceptions: 1, in dimensions of 64; gather of 64 elements for 4,096 multiply-adds}}
  %y = shoal.einsum "ST,ST->S" %h, %p : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64xf32>
  return %y : tensor<64xf32>
}
