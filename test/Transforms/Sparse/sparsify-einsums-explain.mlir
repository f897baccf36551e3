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
