// RUN: shoal-opt %s --shoal-import --shoal-assign --split-input-file --verify-diagnostics | FileCheck %s

shoal.mesh @mesh = <["x" = 2, "y" = 2]>

// The rule lets rows and the summed dimension be split.
// CHECK-LABEL: @declared
// CHECK: shoal.custom_call "kernel"{{.*}}shoal.shardings = [#shoal.sharding<@mesh, [{"x"}, {}], partial = {"y"}>]
// CHECK: shoal.reshard {{.*}}partial = {"y"}> -> <@mesh, [{"x"}, {}]>
func.func @declared(%x: tensor<64x256xf32>, %w: tensor<256x4xf32>) -> tensor<64x4xf32> {
  %xs = shoal.sharding_constraint %x <@mesh, [{"x"}, {"y"}]> : tensor<64x256xf32>
  %ws = shoal.sharding_constraint %w <@mesh, [{"y"}, {}]> : tensor<256x4xf32>
  %y = shoal.custom_call "kernel"(%xs, %ws) {rule = "bi,ij->bj", sums = "i"} : (tensor<64x256xf32>, tensor<256x4xf32>) -> tensor<64x4xf32>
  %ys = shoal.sharding_constraint %y <@mesh, [{"x"}, {}]> : tensor<64x4xf32>
  return %ys : tensor<64x4xf32>
}

// -----

shoal.mesh @mesh = <["x" = 2]>
// CHECK-LABEL: @undeclared
// CHECK: shoal.reshard {{.*}}[{"x"}, {}]> -> <@mesh, [{}, {}]>
func.func @undeclared(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %xs = shoal.sharding_constraint %x <@mesh, [{"x"}, {}]> : tensor<8x4xf32>
  // expected-warning@+1 {{'shoal.custom_call' op has no rule: every device holds all its operands and results, 256 bytes, of which 64 are gathered for it}}
  %y = shoal.custom_call "kernel"(%xs) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

// A function is not to see padding: rows that do not divide stay whole.
shoal.mesh @mesh = <["x" = 2]>
// CHECK-LABEL: @uneven
// CHECK: shoal.reshard {{.*}}[{"x"}, {}]> -> <@mesh, [{}, {}]>
// CHECK-NEXT: shoal.custom_call "kernel"
func.func @uneven(%x: tensor<7x4xf32>) -> tensor<7x4xf32> {
  %xs = shoal.sharding_constraint %x <@mesh, [{"x"}, {}]> : tensor<7x4xf32>
  %y = shoal.custom_call "kernel"(%xs) {rule = "i.->i."} : (tensor<7x4xf32>) -> tensor<7x4xf32>
  return %y : tensor<7x4xf32>
}

// -----

// Unless it says that zeros there are all right.
shoal.mesh @mesh = <["x" = 2]>
// CHECK-LABEL: @padded
// CHECK-NOT: shoal.reshard
// CHECK: shoal.custom_call "kernel"{{.*}}shoal.shardings = [#shoal.sharding<@mesh, [{"x"}, {}]>]
func.func @padded(%x: tensor<7x4xf32>) -> tensor<7x4xf32> {
  %xs = shoal.sharding_constraint %x <@mesh, [{"x"}, {}]> : tensor<7x4xf32>
  %y = shoal.custom_call "kernel"(%xs) {rule = "i.->i.", padded = "i"} : (tensor<7x4xf32>) -> tensor<7x4xf32>
  return %y : tensor<7x4xf32>
}

// -----

// What is built in needs no rule.
shoal.mesh @mesh = <["x" = 2]>
// CHECK-LABEL: @identity
// CHECK-NOT: shoal.reshard
func.func @identity(%x: tensor<7x4xf32>) -> tensor<7x4xf32> {
  %xs = shoal.sharding_constraint %x <@mesh, [{"x"}, {}]> : tensor<7x4xf32>
  %y = shoal.custom_call "Sharding"(%xs) : (tensor<7x4xf32>) -> tensor<7x4xf32>
  return %y : tensor<7x4xf32>
}

// -----

// On one device all is whole anyhow.
shoal.mesh @mesh = <["x" = 1]>
// CHECK-LABEL: @one_device
func.func @one_device(%x: tensor<7x4xf32>) -> tensor<7x4xf32> {
  %y = shoal.custom_call "kernel"(%x) : (tensor<7x4xf32>) -> tensor<7x4xf32>
  return %y : tensor<7x4xf32>
}
