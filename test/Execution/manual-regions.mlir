// RUN: rm -rf %t && split-file %s %t
// RUN: shoal-run %t/partial.mlir --random-inputs=3 --compare | FileCheck %s
// RUN: shoal-opt %t/partial.mlir --shoal-partition | FileCheck %s --check-prefix=PARTIAL
// RUN: shoal-run %t/exchange.mlir --random-inputs=3 --compare | FileCheck %s
// RUN: shoal-opt %t/exchange.mlir --shoal-partition | FileCheck %s --check-prefix=EXCHANGE
// RUN: shoal-run %t/sums.mlir --random-inputs=3 --compare | FileCheck %s
// RUN: shoal-opt %t/sums.mlir --shoal-partition | FileCheck %s --check-prefix=SUMS
// RUN: shoal-run %t/strided.mlir --random-inputs=3 --compare | FileCheck %s
// RUN: shoal-opt %t/strided.mlir --shoal-partition | FileCheck %s --check-prefix=STRIDED
// RUN: shoal-run %t/control.mlir --random-inputs=3 --compare | FileCheck %s
// RUN: shoal-run %t/order.mlir --random-inputs=3 --compare | FileCheck %s
// RUN: shoal-run %t/order-of-some.mlir --random-inputs=3 --compare | FileCheck %s
// RUN: shoal-run %t/one-device.mlir --random-inputs=3 --compare | FileCheck %s
// RUN: shoal-run %t/nothing.mlir --random-inputs=3 --compare | FileCheck %s
// RUN: not shoal-run %t/differs.mlir --random-inputs=3 --devices=0 2>&1 | FileCheck %s --check-prefix=DIFFERS
// RUN: not shoal-run %t/differs.mlir --random-inputs=3 --devices=2 2>&1 | FileCheck %s --check-prefix=DIFFER

// Regions for one device along some axes, the program around them and along the
// other axes being partitioned: it computes what the global program does.
// CHECK: result0: {{.*}}: ok

// The product is partitioned over "a" by annotations before and at the end of
// the region, and summed over "m" by hand.
// PARTIAL: shoal.einsum "IK,KJ->IJ" {{.*}} (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
// PARTIAL: spmd.all_reduce sum @mesh {"m"}
// PARTIAL: math.tanh {{.*}} : tensor<6x5xf32>

//--- partial.mlir

shoal.mesh @mesh = <["m" = 2, "a" = 2]>
func.func @main(%x: tensor<6x8xf32>, %w: tensor<8x10xf32>) -> tensor<6x10xf32> {
  %y = shoal.manual_computation @mesh {"m"} (%x, %w)
      in [#shoal.sharding<@mesh, [{?}, {"m"}]>, #shoal.sharding<@mesh, [{"m"}, {"a"}]>]
      out [#shoal.sharding<@mesh, [{}, {"a"}]>] {
  ^bb0(%xl: tensor<6x4xf32>, %wl: tensor<4x10xf32>):
    %p = shoal.einsum "IK,KJ->IJ" %xl, %wl : (tensor<6x4xf32>, tensor<4x10xf32>) -> tensor<6x10xf32>
    %s = spmd.all_reduce sum @mesh {"m"} %p : tensor<6x10xf32>
    %t = math.tanh %s : tensor<6x10xf32>
    shoal.yield %t : tensor<6x10xf32>
  } : (tensor<6x8xf32>, tensor<8x10xf32>) -> tensor<6x10xf32>
  return %y : tensor<6x10xf32>
}

// Shardings inside change on uneven shards. A device fetches rows from those
// that have its place along "m", as all have values of their own.
// EXCHANGE: spmd.exchange @mesh [{"m"}, {}, {"a"}] -> @mesh [{"m"}, {"a":(1)2}, {"a":(2)2}] {{.*}} shape = [2, 7, 5] {{.*}} : tensor<1x7x2xf32> -> tensor<1x4x3xf32>

//--- exchange.mlir

shoal.mesh @mesh = <["m" = 2, "a" = 4]>
func.func @main(%x: tensor<14x5xf32>) -> tensor<14x5xf32> {
  %y = shoal.manual_computation @mesh {"m"} (%x)
      in [#shoal.sharding<@mesh, [{"m"}, {}]>]
      out [#shoal.sharding<@mesh, [{"m"}, {}]>] {
  ^bb0(%xl: tensor<7x5xf32>):
    %p = shoal.sharding_constraint %xl <@mesh, [{}, {"a"}]> : tensor<7x5xf32>
    %e = math.exp %p : tensor<7x5xf32>
    %i = spmd.axis_index @mesh {"m"} : tensor<i32>
    %f = arith.sitofp %i : tensor<i32> to tensor<f32>
    %b = shoal.broadcast_in_dim %f dims = [] : tensor<f32> -> tensor<7x5xf32>
    %s = arith.addf %e, %b : tensor<7x5xf32>
    %q = shoal.sharding_constraint %s <@mesh, [{"a":(1)2}, {"a":(2)2}]> : tensor<7x5xf32>
    %t = math.tanh %q : tensor<7x5xf32>
    %r = shoal.sharding_constraint %t <@mesh, [{}, {}]> : tensor<7x5xf32>
    shoal.yield %r : tensor<7x5xf32>
  } : (tensor<14x5xf32>) -> tensor<14x5xf32>
  return %y : tensor<14x5xf32>
}

// A sum is reduced over "a"; "m", which no sharding inside names, is no idle
// axis that could share the work.
// SUMS: shoal.einsum
// SUMS-NEXT: spmd.all_reduce sum @mesh {"a"} {{.*}} : tensor<8x16xf32>
// SUMS-NEXT: return

//--- sums.mlir

shoal.mesh @mesh = <["m" = 2, "a" = 2]>
func.func @main(%x: tensor<16x32xf32>, %w: tensor<32x16xf32>) -> tensor<16x16xf32> {
  %y = shoal.manual_computation @mesh {"m"} (%x, %w)
      in [#shoal.sharding<@mesh, [{"m"}, {"a"}]>, #shoal.sharding<@mesh, [{"a"}, {}]>]
      out [#shoal.sharding<@mesh, [{"m"}, {}]>] {
  ^bb0(%xl: tensor<8x32xf32>, %wl: tensor<32x16xf32>):
    %p = shoal.einsum "IK,KJ->IJ" %xl, %wl : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
    shoal.yield %p : tensor<8x16xf32>
  } : (tensor<16x32xf32>, tensor<32x16xf32>) -> tensor<16x16xf32>
  return %y : tensor<16x16xf32>
}

// One that ends in front of an axis that is idle here keeps its blocks apart.
// STRIDED: spmd.all_slice @mesh [{}, {"b"}, {}] {{.*}} tensor<2x4x10xf32> -> tensor<2x2x10xf32>
// STRIDED-NEXT: spmd.reduce_scatter sum @mesh [{"a"}, {}, {}] {{.*}} -> tensor<1x2x10xf32>

//--- strided.mlir

shoal.mesh @mesh = <["m" = 2, "a" = 2, "b" = 2]>
func.func @main(%x: tensor<16x8xf32>, %w: tensor<8x10xf32>) -> tensor<16x10xf32> {
  %y = shoal.manual_computation @mesh {"m"} (%x, %w)
      in [#shoal.sharding<@mesh, [{"m"}, {"a"}]>, #shoal.sharding<@mesh, [{"a"}, {}]>]
      out [#shoal.sharding<@mesh, [{"m", "a", "b"}, {}]>] {
  ^bb0(%xl: tensor<8x8xf32>, %wl: tensor<8x10xf32>):
    %p = shoal.einsum "IK,KJ->IJ" %xl, %wl : (tensor<8x8xf32>, tensor<8x10xf32>) -> tensor<8x10xf32>
    shoal.yield %p : tensor<8x10xf32>
  } : (tensor<16x8xf32>, tensor<8x10xf32>) -> tensor<16x10xf32>
  return %y : tensor<16x10xf32>
}

// Functions in the region and around it, a choice in it, a loop around it.

//--- control.mlir

shoal.mesh @mesh = <["m" = 2, "a" = 2]>
func.func private @inner(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %g = spmd.all_reduce sum @mesh {"m"} %x : tensor<4x6xf32>
  %e = math.exp %g : tensor<4x6xf32>
  return %e : tensor<4x6xf32>
}
func.func private @layer(%x: tensor<8x6xf32>, %i: tensor<i32>) -> tensor<8x6xf32> {
  %y = shoal.manual_computation @mesh {"m"} (%x, %i)
      in [#shoal.sharding<@mesh, [{"m"}, {"a"}]>, #shoal.sharding<@mesh, []>]
      out [#shoal.sharding<@mesh, [{"m"}, {"a"}]>] {
  ^bb0(%xl: tensor<4x6xf32>, %il: tensor<i32>):
    %c = shoal.case %il : (tensor<i32>) -> tensor<4x6xf32> {
      %r = func.call @inner(%xl) : (tensor<4x6xf32>) -> tensor<4x6xf32>
      shoal.yield %r : tensor<4x6xf32>
    }, {
      %t = shoal.sharding_constraint %xl <@mesh, [{"a"}, {}]> : tensor<4x6xf32>
      %u = math.tanh %t : tensor<4x6xf32>
      shoal.yield %u : tensor<4x6xf32>
    }
    shoal.yield %c : tensor<4x6xf32>
  } : (tensor<8x6xf32>, tensor<i32>) -> tensor<8x6xf32>
  return %y : tensor<8x6xf32>
}
func.func @main(%x: tensor<8x6xf32>) -> tensor<8x6xf32> {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %three = arith.constant dense<3> : tensor<i32>
  %r:2 = shoal.while (%i = %zero, %a = %x) : tensor<i32>, tensor<8x6xf32> cond {
    %more = arith.cmpi slt, %i, %three : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %y = func.call @layer(%a, %i) : (tensor<8x6xf32>, tensor<i32>) -> tensor<8x6xf32>
    %n = math.tanh %y : tensor<8x6xf32>
    %next = arith.addi %i, %one : tensor<i32>
    shoal.yield %next, %n : tensor<i32>, tensor<8x6xf32>
  }
  return %r#1 : tensor<8x6xf32>
}

// Over a mesh with another order of the devices, in a loop.

//--- order.mlir

shoal.mesh @mesh = <["x" = 4]>
shoal.mesh @turned = <["x" = 4], device_ids = [2, 0, 3, 1]>
func.func @main(%x: tensor<8x6xf32>) -> tensor<8x6xf32> {
  %xs = shoal.sharding_constraint %x <@mesh, [{"x"}, {}]> : tensor<8x6xf32>
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %three = arith.constant dense<3> : tensor<i32>
  %r:2 = shoal.while (%i = %zero, %a = %xs) : tensor<i32>, tensor<8x6xf32> cond {
    %more = arith.cmpi slt, %i, %three : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %y = shoal.manual_computation @turned {"x"} (%a)
        in [#shoal.sharding<@turned, [{"x"}, {}]>] out [#shoal.sharding<@turned, [{"x"}, {}]>] {
    ^bb0(%l: tensor<2x6xf32>):
      %d = spmd.axis_index @turned {"x"} : tensor<i32>
      %f = arith.sitofp %d : tensor<i32> to tensor<f32>
      %b = shoal.broadcast_in_dim %f dims = [] : tensor<f32> -> tensor<2x6xf32>
      %s = arith.addf %l, %b : tensor<2x6xf32>
      shoal.yield %s : tensor<2x6xf32>
    } : (tensor<8x6xf32>) -> tensor<8x6xf32>
    %next = arith.addi %i, %one : tensor<i32>
    shoal.yield %next, %y : tensor<i32>, tensor<8x6xf32>
  }
  return %r#1 : tensor<8x6xf32>
}

// The same along one of two axes; no shard has a number of rows that divides.

//--- order-of-some.mlir

shoal.mesh @mesh = <["m" = 2, "a" = 3]>
shoal.mesh @turned = <["m" = 2, "a" = 3], device_ids = [4, 0, 3, 1, 5, 2]>
func.func @main(%x: tensor<8x7xf32>) -> (tensor<8x7xf32>, tensor<8x7xf32>) {
  %xs = shoal.sharding_constraint %x <@mesh, [{"a"}, {"m"}]> : tensor<8x7xf32>
  %y = shoal.manual_computation @turned {"m"} (%xs)
      in [#shoal.sharding<@turned, [{"m"}, {"a"}]>] out [#shoal.sharding<@turned, [{"m"}, {?}]>] {
  ^bb0(%l: tensor<4x7xf32>):
    %d = spmd.axis_index @turned {"m"} : tensor<i32>
    %f = arith.sitofp %d : tensor<i32> to tensor<f32>
    %b = shoal.broadcast_in_dim %f dims = [] : tensor<f32> -> tensor<4x7xf32>
    %s = arith.addf %l, %b : tensor<4x7xf32>
    %q = shoal.sharding_constraint %s <@turned, [{"a"}, {}]> : tensor<4x7xf32>
    %e = math.exp %q : tensor<4x7xf32>
    %sum = shoal.reduce sum %e dims = [0] : tensor<4x7xf32> -> tensor<7xf32>
    %t = shoal.broadcast_in_dim %sum dims = [1] : tensor<7xf32> -> tensor<4x7xf32>
    %u = arith.subf %e, %t : tensor<4x7xf32>
    %all = spmd.all_reduce max @turned {"m"} %u : tensor<4x7xf32>
    shoal.yield %all : tensor<4x7xf32>
  } : (tensor<8x7xf32>) -> tensor<8x7xf32>
  %z = math.tanh %y : tensor<8x7xf32>
  %zs = shoal.sharding_constraint %z <@mesh, [{"a"}, {"m"}]> : tensor<8x7xf32>
  return %zs, %y : tensor<8x7xf32>, tensor<8x7xf32>
}

// An axis of one device.

//--- one-device.mlir

shoal.mesh @mesh = <["one" = 1, "a" = 3]>
func.func @main(%x: tensor<7x6xf32>) -> (tensor<7x6xf32>, tensor<i32>) {
  %y, %i = shoal.manual_computation @mesh {"one"} (%x)
      in [#shoal.sharding<@mesh, [{"one"}, {"a"}]>]
      out [#shoal.sharding<@mesh, [{"one"}, {?}]>, #shoal.sharding<@mesh, []>] {
  ^bb0(%xl: tensor<7x6xf32>):
    %g = spmd.all_reduce sum @mesh {"one"} %xl : tensor<7x6xf32>
    %h = spmd.all_gather @mesh [{"one"}, {}] %g : tensor<7x6xf32> -> tensor<7x6xf32>
    %i = spmd.axis_index @mesh {"one"} : tensor<i32>
    %e = shoal.sharding_constraint %h <@mesh, [{"a"}, {}]> : tensor<7x6xf32>
    %t = math.tanh %e : tensor<7x6xf32>
    shoal.yield %t, %i : tensor<7x6xf32>, tensor<i32>
  } : (tensor<7x6xf32>) -> (tensor<7x6xf32>, tensor<i32>)
  return %y, %i : tensor<7x6xf32>, tensor<i32>
}

// Nothing comes in; nothing goes out; no axis is manual.

//--- nothing.mlir

shoal.mesh @mesh = <["m" = 2, "a" = 2]>
func.func @main(%x: tensor<8x6xf32>) -> (tensor<2xi32>, tensor<8x6xf32>) {
  %y = shoal.manual_computation @mesh {"m"} ()
      in []
      out [#shoal.sharding<@mesh, [{"m"}]>] {
    %i = spmd.axis_index @mesh {"m"} : tensor<i32>
    %r = shoal.reshape %i : tensor<i32> -> tensor<1xi32>
    shoal.yield %r : tensor<1xi32>
  } : () -> (tensor<2xi32>)
  shoal.manual_computation @mesh {"m"} (%x)
      in [#shoal.sharding<@mesh, [{"m"}, {}]>] out [] {
  ^bb0(%xl: tensor<4x6xf32>):
    %e = math.exp %xl : tensor<4x6xf32>
    shoal.yield
  } : (tensor<8x6xf32>) -> ()
  %z = shoal.manual_computation @mesh {} (%x)
      in [#shoal.sharding<@mesh, [{"m"}, {}]>] out [#shoal.sharding<@mesh, [{}, {"m"}]>] {
  ^bb0(%xl: tensor<8x6xf32>):
    %e = math.exp %xl : tensor<8x6xf32>
    shoal.yield %e : tensor<8x6xf32>
  } : (tensor<8x6xf32>) -> (tensor<8x6xf32>)
  return %y, %z : tensor<2xi32>, tensor<8x6xf32>
}

// The sum is said to be whole on every device, but no one has added it up.
// DIFFERS: error: 'shoal.manual_computation' op result 0: devices 0 and 1 hold different copies of one element
// DIFFER: error: result 0: devices 0 and 1 hold different copies of one element

//--- differs.mlir

shoal.mesh @mesh = <["x" = 2]>
func.func @main(%x: tensor<8x4xf32>) -> tensor<4xf32> {
  %y = shoal.manual_computation @mesh {"x"} (%x) in [#shoal.sharding<@mesh, [{"x"}, {}]>] out [#shoal.sharding<@mesh, [{}]>] {
  ^bb0(%l: tensor<4x4xf32>):
    %s = shoal.reduce sum %l dims = [0] : tensor<4x4xf32> -> tensor<4xf32>
    shoal.yield %s : tensor<4xf32>
  } : (tensor<8x4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
