// Einsums that will be computed from rows are counted so.

// RUN: shoal-opt %s --shoal-assign="flops-per-byte=30 warn-repeated-work=0" | FileCheck %s --check-prefixes=CHECK,ROWS
// RUN: shoal-opt %s --shoal-assign="flops-per-byte=10 warn-repeated-work=0" | FileCheck %s --check-prefixes=CHECK,ROWS
// RUN: shoal-opt %s --shoal-assign="flops-per-byte=30 warn-repeated-work=0 dense-one-hots" | FileCheck %s --check-prefixes=CHECK,DENSE
// RUN: shoal-opt %s --shoal-assign="flops-per-byte=30 warn-repeated-work=0 one-hot-gain=1000000" | FileCheck %s --check-prefixes=CHECK,DENSE

shoal.mesh @mesh = <["x" = 4]>

#whole = #shoal.sharding<@mesh, [{}, {}]>

// 30 operations for each element of a row are less than sending it; 2000 are
// more. The product that is left is a part of what the program computes.
// CHECK-LABEL: @embed
// ROWS-SAME: shoal.global_einsum_flops = 0x4140000000000000
// DENSE-NOT: shoal.global_einsum_flops
func.func @embed(%token: tensor<256xi32>, %table: tensor<1000x64xf32> {shoal.sharding = #whole}, %w: tensor<64x64xf32>)
    -> (tensor<256x64xf32> {shoal.sharding = #whole}, tensor<256x64xf32>) {
  %i = shoal.iota dim = 1 : tensor<256x1000xi32>
  %t = shoal.broadcast_in_dim %token dims = [0] : tensor<256xi32> -> tensor<256x1000xi32>
  %m = arith.cmpi eq, %t, %i : tensor<256x1000xi32>
  %h = arith.uitofp %m : tensor<256x1000xi1> to tensor<256x1000xf32>
  // An annotation is the identity to what is known of elements.
  %a = shoal.sharding_constraint %h <@mesh, [{?}, {?}]> : tensor<256x1000xf32>
  // ROWS: %[[Y:.*]] = shoal.einsum "TV,VM->TM" {{.*}}shoal.shardings = [#shoal.sharding<@mesh, [{}, {}]>]
  // DENSE: %[[Y:.*]] = shoal.einsum "TV,VM->TM" {{.*}}shoal.shardings = [#shoal.sharding<@mesh, [{"x"}, {}]>]
  // DENSE: shoal.reshard %[[Y]]
  %y = shoal.einsum "TV,VM->TM" %a, %table : (tensor<256x1000xf32>, tensor<1000x64xf32>) -> tensor<256x64xf32>
  %z = shoal.einsum "TM,MN->TN" %y, %w : (tensor<256x64xf32>, tensor<64x64xf32>) -> tensor<256x64xf32>
  // ROWS: return %[[Y]],
  return %y, %z : tensor<256x64xf32>, tensor<256x64xf32>
}

// Of a product that is read at places alone, products of rows are computed.
// CHECK-LABEL: @sampled
// ROWS-SAME: shoal.global_einsum_flops = 0.0
func.func @sampled(%token: tensor<256xi32>, %x: tensor<256x64xf32>, %table: tensor<1000x64xf32>) -> tensor<256xf32> {
  %zero = arith.constant dense<0.0> : tensor<256x1000xf32>
  %i = shoal.iota dim = 1 : tensor<256x1000xi32>
  %t = shoal.broadcast_in_dim %token dims = [0] : tensor<256xi32> -> tensor<256x1000xi32>
  %m = arith.cmpi eq, %t, %i : tensor<256x1000xi32>
  %s = shoal.einsum "TM,VM->TV" %x, %table : (tensor<256x64xf32>, tensor<1000x64xf32>) -> tensor<256x1000xf32>
  %p = arith.select %m, %s, %zero : tensor<256x1000xi1>, tensor<256x1000xf32>
  %r = shoal.reduce sum %p dims = [1] : tensor<256x1000xf32> -> tensor<256xf32>
  return %r : tensor<256xf32>
}
