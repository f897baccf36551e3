// RUN: shoal-opt %s --shoal-form-manual-regions --split-input-file --verify-diagnostics | FileCheck %s

shoal.mesh @mesh = <["x" = 2, "y" = 2]>

// Two parts become two regions along all axes; the constant is copied.
// CHECK-LABEL: @parts
// CHECK: %[[Y:.+]] = shoal.manual_computation @mesh {"x", "y"}(%{{.+}}) in [#shoal.sharding<@mesh, [{"x"}, {}]>] out [#shoal.sharding<@mesh, [{"x"}, {}]>] {
// CHECK-NEXT: ^bb0(%[[L:.+]]: tensor<4x4xf32>):
// CHECK-NEXT: %[[C:.+]] = arith.constant
// CHECK-NEXT: %[[S:.+]] = arith.addf %[[L]], %[[C]]
// CHECK-NEXT: shoal.yield %[[S]]
// CHECK: %[[E:.+]] = math.exp %[[Y]]
// CHECK: shoal.manual_computation @mesh {"x", "y"}(%[[E]])
// CHECK: spmd.all_gather
func.func @parts(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %one = arith.constant dense<1.0> : tensor<4x4xf32>
  %l = shoal.auto_to_manual %x <@mesh, [{"x"}, {}]> : tensor<8x4xf32> -> tensor<4x4xf32>
  %s = arith.addf %l, %one : tensor<4x4xf32>
  %y = shoal.manual_to_auto %s <@mesh, [{"x"}, {}]> : tensor<4x4xf32> -> tensor<8x4xf32>
  %e = math.exp %y : tensor<8x4xf32>
  %m = shoal.auto_to_manual %e <@mesh, [{"y"}, {}]> : tensor<8x4xf32> -> tensor<4x4xf32>
  %g = spmd.all_gather @mesh [{"y"}, {}] %m : tensor<4x4xf32> -> tensor<8x4xf32>
  %z = shoal.manual_to_auto %g <@mesh, [{}, {}]> : tensor<8x4xf32> -> tensor<8x4xf32>
  return %z : tensor<8x4xf32>
}

// -----

shoal.mesh @mesh = <["x" = 2]>
func.func @mixed(%x: tensor<8x4xf32>, %b: tensor<4x4xf32>) -> tensor<8x4xf32> { // expected-note {{the value is made here}}
  %l = shoal.auto_to_manual %x <@mesh, [{"x"}, {}]> : tensor<8x4xf32> -> tensor<4x4xf32>
  // expected-error@+1 {{mixes manual values with one that is not: shoal.auto_to_manual is missing}}
  %s = arith.addf %l, %b : tensor<4x4xf32>
  %y = shoal.manual_to_auto %s <@mesh, [{"x"}, {}]> : tensor<4x4xf32> -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

shoal.mesh @mesh = <["x" = 2]>
func.func @returned(%x: tensor<8x4xf32>) -> tensor<4x4xf32> {
  // expected-note@+1 {{the value is made here}}
  %l = shoal.auto_to_manual %x <@mesh, [{"x"}, {}]> : tensor<8x4xf32> -> tensor<4x4xf32>
  // expected-error@+1 {{returns a value that is manual: shoal.manual_to_auto is missing}}
  return %l : tensor<4x4xf32>
}

// -----

shoal.mesh @mesh = <["x" = 2]>
func.func @around(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %l = shoal.auto_to_manual %x <@mesh, [{"x"}, {}]> : tensor<8x4xf32> -> tensor<4x4xf32>
  // expected-note@+1 {{shoal.manual_to_auto is here}}
  %y = shoal.manual_to_auto %l <@mesh, [{"x"}, {}]> : tensor<4x4xf32> -> tensor<8x4xf32>
  %e = math.exp %y : tensor<8x4xf32>
  // expected-error@+1 {{needs a value that is made behind the first shoal.manual_to_auto of the same part}}
  %m = shoal.auto_to_manual %e <@mesh, [{"x"}, {}]> : tensor<8x4xf32> -> tensor<4x4xf32>
  %s = arith.addf %l, %m : tensor<4x4xf32>
  %z = shoal.manual_to_auto %s <@mesh, [{"x"}, {}]> : tensor<4x4xf32> -> tensor<8x4xf32>
  return %z : tensor<8x4xf32>
}

// -----

shoal.mesh @mesh = <["x" = 2]>
func.func @twice(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-note@+1 {{the value is made here}}
  %l = shoal.auto_to_manual %x <@mesh, [{"x"}, {}]> : tensor<8x4xf32> -> tensor<4x4xf32>
  // expected-error@+1 {{expected a value that is not manual yet}}
  %m = shoal.auto_to_manual %l <@mesh, [{"x"}, {}]> : tensor<4x4xf32> -> tensor<2x4xf32>
  %y = shoal.manual_to_auto %m <@mesh, [{"x"}, {}]> : tensor<2x4xf32> -> tensor<4x4xf32>
  return %x : tensor<8x4xf32>
}

// -----

shoal.mesh @mesh = <["x" = 2]>
func.func @never_manual(%x: tensor<4x4xf32>) -> tensor<8x4xf32> {
  // expected-error@+1 {{expected a value that comes from shoal.auto_to_manual}}
  %y = shoal.manual_to_auto %x <@mesh, [{"x"}, {}]> : tensor<4x4xf32> -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

shoal.mesh @mesh = <["x" = 2]>
shoal.mesh @turned = <["x" = 2], device_ids = [1, 0]>
func.func @meshes(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-note@+1 {{as the part begins}}
  %l = shoal.auto_to_manual %x <@mesh, [{"x"}, {}]> : tensor<8x4xf32> -> tensor<4x4xf32>
  // expected-error@+1 {{is over mesh @turned and not over @mesh}}
  %y = shoal.manual_to_auto %l <@turned, [{"x"}, {}]> : tensor<4x4xf32> -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

// In the body of a loop; the constant is outside of it. A loop may stand in a
// part as well.
shoal.mesh @mesh = <["x" = 2]>
// CHECK-LABEL: @loops
// CHECK: shoal.while
// CHECK: shoal.manual_computation
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.constant
// CHECK: shoal.while
// CHECK: shoal.yield {{.*}} : tensor<4x4xf32>
// CHECK-NOT: shoal.auto_to_manual
func.func @loops(%x: tensor<8x4xf32>, %n: tensor<i32>) -> tensor<8x4xf32> {
  %one = arith.constant dense<1> : tensor<i32>
  %ones = arith.constant dense<1.0> : tensor<4x4xf32>
  %r:2 = shoal.while (%i = %one, %a = %x) : tensor<i32>, tensor<8x4xf32> cond {
    %more = arith.cmpi slt, %i, %n : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %l = shoal.auto_to_manual %a <@mesh, [{"x"}, {}]> : tensor<8x4xf32> -> tensor<4x4xf32>
    %zero = arith.constant dense<0> : tensor<i32>
    %inner:2 = shoal.while (%j = %zero, %b = %l) : tensor<i32>, tensor<4x4xf32> cond {
      %more = arith.cmpi slt, %j, %one : tensor<i32>
      shoal.yield %more : tensor<i1>
    } do {
      %next = arith.addi %j, %one : tensor<i32>
      %c = arith.addf %b, %ones : tensor<4x4xf32>
      shoal.yield %next, %c : tensor<i32>, tensor<4x4xf32>
    }
    %y = shoal.manual_to_auto %inner#1 <@mesh, [{"x"}, {}]> : tensor<4x4xf32> -> tensor<8x4xf32>
    %next = arith.addi %i, %one : tensor<i32>
    shoal.yield %next, %y : tensor<i32>, tensor<8x4xf32>
  }
  return %r#1 : tensor<8x4xf32>
}

// -----

shoal.mesh @mesh = <["x" = 2]>
func.func @outer_value(%x: tensor<8x4xf32>, %n: tensor<i32>) -> tensor<8x4xf32> {
  %one = arith.constant dense<1> : tensor<i32>
  // expected-note@+1 {{the value is made here}}
  %outer = shoal.auto_to_manual %x <@mesh, [{"x"}, {}]> : tensor<8x4xf32> -> tensor<4x4xf32>
  %r:2 = shoal.while (%i = %one, %a = %x) : tensor<i32>, tensor<8x4xf32> cond {
    %more = arith.cmpi slt, %i, %n : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %l = shoal.auto_to_manual %a <@mesh, [{"x"}, {}]> : tensor<8x4xf32> -> tensor<4x4xf32>
    // expected-error@+1 {{mixes manual values with one that is not: shoal.auto_to_manual is missing}}
    %c = arith.addf %l, %outer : tensor<4x4xf32>
    %y = shoal.manual_to_auto %c <@mesh, [{"x"}, {}]> : tensor<4x4xf32> -> tensor<8x4xf32>
    %next = arith.addi %i, %one : tensor<i32>
    shoal.yield %next, %y : tensor<i32>, tensor<8x4xf32>
  }
  return %r#1 : tensor<8x4xf32>
}

// -----

// In a region for one device, along the axes that are not manual yet.
shoal.mesh @mesh = <["x" = 2, "y" = 2, "z" = 2]>
// CHECK-LABEL: @within
// CHECK: shoal.manual_computation @mesh {"y"}
// CHECK: shoal.manual_computation @mesh {"x", "z"}(%{{.+}}) in [#shoal.sharding<@mesh, [{"x"}, {}]>]
// CHECK: spmd.all_reduce sum @mesh {"x", "y"}
func.func @within(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %y = shoal.manual_computation @mesh {"y"} (%x)
      in [#shoal.sharding<@mesh, [{}, {"y"}]>] out [#shoal.sharding<@mesh, [{}, {"y"}]>] {
  ^bb0(%p: tensor<8x2xf32>):
    %l = shoal.auto_to_manual %p <@mesh, [{"x"}, {}]> : tensor<8x2xf32> -> tensor<4x2xf32>
    %s = spmd.all_reduce sum @mesh {"x", "y"} %l : tensor<4x2xf32>
    %z = shoal.manual_to_auto %s <@mesh, [{"x"}, {}]> : tensor<4x2xf32> -> tensor<8x2xf32>
    shoal.yield %z : tensor<8x2xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

// A collective over an axis that no cast makes manual.
shoal.mesh @mesh = <["x" = 2, "y" = 2]>
func.func @left_over(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %y = shoal.manual_computation @mesh {"y"} (%x)
      in [#shoal.sharding<@mesh, [{}, {"y"}]>] out [#shoal.sharding<@mesh, [{}, {"y"}]>] {
  ^bb0(%p: tensor<8x2xf32>):
    // expected-error@+1 {{axis "x" is not manual: a collective here goes over manual axes}}
    %t = spmd.all_reduce sum @mesh {"x"} %p : tensor<8x2xf32>
    %l = shoal.auto_to_manual %t <@mesh, [{"x"}, {}]> : tensor<8x2xf32> -> tensor<4x2xf32>
    %z = shoal.manual_to_auto %l <@mesh, [{"x"}, {}]> : tensor<4x2xf32> -> tensor<8x2xf32>
    shoal.yield %z : tensor<8x2xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}
