// RUN: shoal-opt %s --pass-pipeline='builtin.module(func.func(shoal-order-ops))' --split-input-file | FileCheck %s

// Of the two gradients of a product the one that reads the activation for the last
// time comes first: the other one lies where the activation was.
// CHECK-LABEL: @gradients_of_a_product
// CHECK: %[[H:.+]] = linalg.exp
// CHECK: %[[DW:.+]] = rt.einsum "BH,BM->HM" ins(%[[H]], %[[G:[^ ]+]] :
// CHECK: %[[DH:.+]] = rt.einsum "BM,HM->BH" ins(%[[G]], %arg2 :
// CHECK: linalg.abs ins(%[[DH]] :
func.func @gradients_of_a_product(%x: tensor<64x32xf32>, %y: tensor<64x8xf32>, %w: tensor<32x8xf32>)
    -> (tensor<64x32xf32>, tensor<32x8xf32>) {
  %0 = tensor.empty() : tensor<64x32xf32>
  %1 = tensor.empty() : tensor<64x8xf32>
  %2 = tensor.empty() : tensor<32x8xf32>
  %h = linalg.exp ins(%x : tensor<64x32xf32>) outs(%0 : tensor<64x32xf32>) -> tensor<64x32xf32>
  %g = linalg.exp ins(%y : tensor<64x8xf32>) outs(%1 : tensor<64x8xf32>) -> tensor<64x8xf32>
  %dh = rt.einsum "BM,HM->BH" ins(%g, %w : tensor<64x8xf32>, tensor<32x8xf32>)
        outs(%0 : tensor<64x32xf32>) -> tensor<64x32xf32>
  %dw = rt.einsum "BH,BM->HM" ins(%h, %g : tensor<64x32xf32>, tensor<64x8xf32>)
        outs(%2 : tensor<32x8xf32>) -> tensor<32x8xf32>
  %dx = linalg.abs ins(%dh : tensor<64x32xf32>) outs(%0 : tensor<64x32xf32>) -> tensor<64x32xf32>
  return %dx, %dw : tensor<64x32xf32>, tensor<32x8xf32>
}

// -----

// An op that makes no more than it lets go stays, as does one that would be the
// last to read a donated argument, over which another may write.
// CHECK-LABEL: @what_stays
// CHECK: %[[A:.+]] = linalg.exp
// CHECK: %[[B:.+]] = linalg.abs ins(%[[A]] :
// CHECK: linalg.square ins(%arg1 :
// CHECK: linalg.negf ins(%arg1 :
// CHECK: linalg.mul ins(%[[B]],
func.func @what_stays(%x: tensor<64xf32>, %w: tensor<64xf32> {shoal.donated}) -> (tensor<64xf32>, tensor<64xf32>) {
  %0 = tensor.empty() : tensor<64xf32>
  %a = linalg.exp ins(%x : tensor<64xf32>) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
  %b = linalg.abs ins(%a : tensor<64xf32>) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
  %c = linalg.square ins(%w : tensor<64xf32>) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
  %v = linalg.negf ins(%w : tensor<64xf32>) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
  %d = linalg.mul ins(%b, %c : tensor<64xf32>, tensor<64xf32>) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
  return %d, %v : tensor<64xf32>, tensor<64xf32>
}

// -----

// In a loop, too; what it carries may be written over by the last who reads it.
// CHECK-LABEL: @in_a_loop
// CHECK: scf.for
// CHECK-SAME: iter_args(%[[CARRIED:.+]] =
// CHECK: linalg.square ins(%[[CARRIED]] :
// CHECK: linalg.exp ins(%[[CARRIED]] :
// CHECK: linalg.sqrt
// CHECK: %[[L:.+]] = linalg.negf ins(%arg1 :
// CHECK: linalg.mul ins(%{{.+}}, %[[L]] :
func.func @in_a_loop(%x: tensor<64xf32>, %y: tensor<64xf32>, %n: index) -> tensor<64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = tensor.empty() : tensor<64xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%c = %x) -> tensor<64xf32> {
    %l = linalg.negf ins(%y : tensor<64xf32>) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
    %s = linalg.square ins(%c : tensor<64xf32>) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
    %e = linalg.exp ins(%c : tensor<64xf32>) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
    %q = linalg.sqrt ins(%e : tensor<64xf32>) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
    %a = linalg.mul ins(%q, %l : tensor<64xf32>, tensor<64xf32>) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
    %b = linalg.mul ins(%a, %s : tensor<64xf32>, tensor<64xf32>) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
    scf.yield %b : tensor<64xf32>
  }
  return %r : tensor<64xf32>
}
