// RUN: shoal-opt %s --shoal-window-einsums=bytes=256 --verify-diagnostics --split-input-file | FileCheck %s

// What stays as it is, and why.

// CHECK-NOT: shoal.while
// CHECK-NOT: spmd.collective_permute

shoal.mesh @mesh = <["x" = 4]>
func.func @another_reader(%x: tensor<16x8xf32>, %w: tensor<8x8xf32>) -> (tensor<64x8xf32>, tensor<64x8xf32>) attributes {shoal.spmd} {
  // expected-remark @below {{no loop instead of 2048 bytes: not only einsums read it}}
  %0 = spmd.all_gather @mesh [{"x"}, {}] %x : tensor<16x8xf32> -> tensor<64x8xf32>
  %1 = shoal.einsum "BK,KN->BN" %0, %w : (tensor<64x8xf32>, tensor<8x8xf32>) -> tensor<64x8xf32>
  // expected-note @below {{this is in the way}}
  %2 = math.exp %0 : tensor<64x8xf32>
  return %1, %2 : tensor<64x8xf32>, tensor<64x8xf32>
}

// -----

shoal.mesh @mesh = <["x" = 4]>
func.func @below_the_limit(%x: tensor<2x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {shoal.spmd} {
  %0 = spmd.all_gather @mesh [{"x"}, {}] %x : tensor<2x8xf32> -> tensor<8x8xf32>
  %1 = shoal.einsum "BK,KN->BN" %0, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

// The einsum of one block has 64 x 64 floats.
shoal.mesh @mesh = <["x" = 4]>
func.func @more_memory(%x: tensor<64x8xf32>, %w: tensor<8x64xf32>) -> tensor<64x64xf32> attributes {shoal.spmd} {
  // expected-remark @below {{no loop instead of 8192 bytes: it would hold 22528 bytes}}
  %0 = spmd.all_gather @mesh [{"x"}, {}] %w : tensor<8x64xf32> -> tensor<32x64xf32>
  %1 = shoal.slice %x starts = [0, 0] limits = [64, 8] strides = [1, 1] : tensor<64x8xf32> -> tensor<64x8xf32>
  %2 = shoal.concatenate %x, %x, %1, %x dim = 1 : (tensor<64x8xf32>, tensor<64x8xf32>, tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<64x32xf32>
  %3 = shoal.einsum "BK,KN->BN" %2, %0 : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  return %3 : tensor<64x64xf32>
}

// -----

shoal.mesh @mesh = <["x" = 2, "y" = 2]>
func.func @two_dimensions(%x: tensor<16x8xf32>, %w: tensor<16x8xf32>) -> tensor<32x8xf32> attributes {shoal.spmd} {
  // expected-remark @below {{it gathers several dimensions}}
  %0 = spmd.all_gather @mesh [{"x"}, {"y"}] %x : tensor<16x8xf32> -> tensor<32x16xf32>
  %1 = shoal.einsum "BK,KN->BN" %0, %w : (tensor<32x16xf32>, tensor<16x8xf32>) -> tensor<32x8xf32>
  return %1 : tensor<32x8xf32>
}

// -----

shoal.mesh @mesh = <["x" = 4]>
func.func @diagonal(%x: tensor<8x32xf32>) -> tensor<32xf32> attributes {shoal.spmd} {
  // expected-remark @below {{an einsum takes a diagonal along "I"}}
  %0 = spmd.all_gather @mesh [{"x"}, {}] %x : tensor<8x32xf32> -> tensor<32x32xf32>
  // expected-note @below {{this is in the way}}
  %1 = shoal.einsum "II->I" %0 : (tensor<32x32xf32>) -> tensor<32xf32>
  return %1 : tensor<32xf32>
}

// -----

shoal.mesh @mesh = <["x" = 4]>
func.func @two_letters(%x: tensor<8x32xf32>) -> tensor<32x32xf32> attributes {shoal.spmd} {
  // expected-remark @below {{an einsum reads it twice, by different letters}}
  %0 = spmd.all_gather @mesh [{"x"}, {}] %x : tensor<8x32xf32> -> tensor<32x32xf32>
  // expected-note @below {{this is in the way}}
  %1 = shoal.einsum "AK,BK->AB" %0, %0 : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  return %1 : tensor<32x32xf32>
}

// -----

shoal.mesh @mesh = <["x" = 4]>
func.func @one_after_the_other(%x: tensor<8x32xf32>, %w: tensor<32x8xf32>) -> tensor<8x8xf32> attributes {shoal.spmd} {
  // expected-remark @below {{one einsum that reads it waits for another one}}
  %0 = spmd.all_gather @mesh [{"x"}, {}] %x : tensor<8x32xf32> -> tensor<32x32xf32>
  %1 = shoal.einsum "BK,KN->BN" %0, %w : (tensor<32x32xf32>, tensor<32x8xf32>) -> tensor<32x8xf32>
  // expected-note @below {{this is in the way}}
  %2 = shoal.einsum "BK,BN->KN" %0, %1 : (tensor<32x32xf32>, tensor<32x8xf32>) -> tensor<32x8xf32>
  %3 = spmd.all_slice @mesh [{"x"}, {}] %2 : tensor<32x8xf32> -> tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}

// -----

// Each device would begin the sum with its own block; the results would differ
// in their last bits, and whoever takes them for equal would be wrong.
#whole = #shoal.sharding<@mesh, [{}, {}]>
shoal.mesh @mesh = <["x" = 4]>
func.func @same_on_all_devices(%x: tensor<8x64xf32> {shoal.sharding = #whole}, %w: tensor<16x8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x8xf32> attributes {shoal.spmd} {
  // expected-remark @below {{devices that are to have the same result would add up blocks in different orders}}
  %0 = spmd.all_gather @mesh [{"x"}, {}] %w : tensor<16x8xf32> -> tensor<64x8xf32>
  // expected-note @below {{this is in the way}}
  %1 = shoal.einsum "BK,KN->BN" %x, %0 : (tensor<8x64xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

shoal.mesh @mesh = <["x" = 4]>
func.func @scattered_and_read(%x: tensor<64x8xf32>, %w: tensor<8x8xf32>) -> (tensor<16x8xf32>, tensor<64x8xf32>) attributes {shoal.spmd} {
  %0 = shoal.einsum "BK,KN->BN" %x, %w : (tensor<64x8xf32>, tensor<8x8xf32>) -> tensor<64x8xf32>
  // expected-remark @below {{no loop instead of 2048 bytes: the einsum's result has another user}}
  %1 = spmd.reduce_scatter sum @mesh [{"x"}, {}] %0 : tensor<64x8xf32> -> tensor<16x8xf32>
  // expected-note @below {{this is in the way}}
  %2 = math.exp %0 : tensor<64x8xf32>
  return %1, %2 : tensor<16x8xf32>, tensor<64x8xf32>
}

// -----

shoal.mesh @mesh = <["x" = 4]>
func.func @maximum(%x: tensor<64x8xf32>, %w: tensor<8x8xf32>) -> tensor<16x8xf32> attributes {shoal.spmd} {
  %0 = shoal.einsum "BK,KN->BN" %x, %w : (tensor<64x8xf32>, tensor<8x8xf32>) -> tensor<64x8xf32>
  // expected-remark @below {{it does not sum}}
  %1 = spmd.reduce_scatter max @mesh [{"x"}, {}] %0 : tensor<64x8xf32> -> tensor<16x8xf32>
  return %1 : tensor<16x8xf32>
}

// -----

// Over the other order of the devices everything differs, and yet devices that
// agree on "y" are to have the same result.
shoal.mesh @mesh = <["x" = 2, "y" = 2]>
shoal.mesh @other = <["x" = 2, "y" = 2], device_ids = [3, 1, 2, 0]>
func.func @another_order(%x: tensor<16x64xf32> {shoal.sharding = #shoal.sharding<@other, [{}, {"x", "y"}]>}, %w: tensor<256x8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y"}]>}) -> tensor<16x8xf32> attributes {shoal.spmd} {
  // expected-remark @below {{no loop instead of 16384 bytes: devices that are to have the same result would add up blocks in different orders}}
  %0 = spmd.all_gather @other [{}, {"x", "y"}] %x : tensor<16x64xf32> -> tensor<16x256xf32>
  // expected-note @below {{this is in the way}}
  %1 = shoal.einsum "BK,KN->BN" %0, %w : (tensor<16x256xf32>, tensor<256x8xf32>) -> tensor<16x8xf32>
  return %1 : tensor<16x8xf32>
}
