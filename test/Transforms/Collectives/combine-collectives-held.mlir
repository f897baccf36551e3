// Gathers are combined as long as their place does not become the one where most
// is held; the message is held beside what is unpacked from it.
//
// RUN: shoal-opt %s --shoal-combine-collectives=max-bytes=65536 | FileCheck %s

shoal.mesh @mesh = <["x" = 2]>

// Each weight of 4096 bytes ends before the next one is there: 8192 bytes are
// held with the product. Together with the message it would be 16384.
// CHECK-LABEL: @weights_one_after_another
// CHECK-COUNT-2: spmd.all_gather {{.*}} : tensor<16x32xf32> -> tensor<32x32xf32>
// CHECK-NOT: spmd.
func.func @weights_one_after_another(%x: tensor<32x32xf32>, %w0: tensor<16x32xf32>, %w1: tensor<16x32xf32>)
    -> tensor<32x32xf32> attributes {shoal.spmd} {
  %0 = spmd.all_gather @mesh [{"x"}, {}] %w0 : tensor<16x32xf32> -> tensor<32x32xf32>
  %1 = shoal.einsum "ab,bc->ac" %x, %0 : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %2 = spmd.all_gather @mesh [{"x"}, {}] %w1 : tensor<16x32xf32> -> tensor<32x32xf32>
  %3 = shoal.einsum "ab,bc->ac" %1, %2 : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  return %3 : tensor<32x32xf32>
}

// The same beside what is larger.
// CHECK-LABEL: @more_is_held_elsewhere
// CHECK: spmd.all_gather {{.*}}tensor<1x1024xf32> -> tensor<2x1024xf32>
// CHECK-NOT: spmd.
func.func @more_is_held_elsewhere(%x: tensor<32x32xf32>, %w0: tensor<16x32xf32>, %w1: tensor<16x32xf32>, %u: tensor<32x256xf32>)
    -> tensor<32x256xf32> attributes {shoal.spmd} {
  %0 = spmd.all_gather @mesh [{"x"}, {}] %w0 : tensor<16x32xf32> -> tensor<32x32xf32>
  %1 = shoal.einsum "ab,bc->ac" %x, %0 : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %2 = spmd.all_gather @mesh [{"x"}, {}] %w1 : tensor<16x32xf32> -> tensor<32x32xf32>
  %3 = shoal.einsum "ab,bc->ac" %1, %2 : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %4 = shoal.einsum "ab,bc->ac" %3, %u : (tensor<32x32xf32>, tensor<32x256xf32>) -> tensor<32x256xf32>
  return %4 : tensor<32x256xf32>
}

// What a loop holds counts where the loop stands, and what it carries lies where
// it began.
// CHECK-LABEL: @in_front_of_a_loop
// CHECK-COUNT-2: spmd.all_gather {{.*}} : tensor<16x32xf32> -> tensor<32x32xf32>
// CHECK-NOT: spmd.
func.func @in_front_of_a_loop(%x: tensor<4x32xf32>, %w0: tensor<16x32xf32>, %w1: tensor<16x32xf32>)
    -> tensor<4x32xf32> attributes {shoal.spmd} {
  %c0 = arith.constant dense<0> : tensor<i32>
  %c8 = arith.constant dense<8> : tensor<i32>
  %c1 = arith.constant dense<1> : tensor<i32>
  %0 = spmd.all_gather @mesh [{"x"}, {}] %w0 : tensor<16x32xf32> -> tensor<32x32xf32>
  %1 = spmd.all_gather @mesh [{"x"}, {}] %w1 : tensor<16x32xf32> -> tensor<32x32xf32>
  %2:4 = shoal.while (%i = %c0, %h = %x, %a = %0, %b = %1) : tensor<i32>, tensor<4x32xf32>, tensor<32x32xf32>, tensor<32x32xf32> cond {
    %3 = arith.cmpi slt, %i, %c8 : tensor<i32>
    shoal.yield %3 : tensor<i1>
  } do {
    %3 = shoal.einsum "ab,bc->ac" %h, %a : (tensor<4x32xf32>, tensor<32x32xf32>) -> tensor<4x32xf32>
    %4 = shoal.einsum "ab,bc->ac" %3, %b : (tensor<4x32xf32>, tensor<32x32xf32>) -> tensor<4x32xf32>
    %5 = arith.addi %i, %c1 : tensor<i32>
    shoal.yield %5, %4, %a, %b : tensor<i32>, tensor<4x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>
  }
  return %2#1 : tensor<4x32xf32>
}
