// RUN: shoal-opt %s --shoal-import --shoal-assign="flops-per-byte=1000 repeat-margin=1" --shoal-verify-assignment | FileCheck %s
// RUN: shoal-opt %s --shoal-import --shoal-assign="flops-per-byte=1000 repeat-margin=1" --shoal-explain -o /dev/null 2>&1 | FileCheck %s --check-prefix=EXPLAIN
// RUN: shoal-opt %s --shoal-partition="flops-per-byte=1000 repeat-margin=1" | FileCheck %s --check-prefix=LOCAL

shoal.mesh @mesh = <["x" = 2, "y" = 2]>

// The carried rows keep their axis all around the loop. The product needs the
// weight whole: it is gathered once, before the loop.

// CHECK-LABEL: @hoisted
// CHECK: shoal.reshard {{.*}}[{}, {"y"}]> -> <@mesh, [{}, {}]>
// CHECK: shoal.while
// CHECK-NOT: shoal.reshard
// CHECK: shoal.shardings = [#shoal.sharding<@mesh, []>, #shoal.sharding<@mesh, [{"x"}, {}]>]

// EXPLAIN-LABEL: @hoisted
// EXPLAIN: #1 = shoal.while : tensor<6x8xf32> <@mesh, [{"x"}, {}]>  [x: from shoal.sharding_constraint {{.*}} via shoal.while]
// EXPLAIN-NEXT: region 0 (%{{.+}}, %{{.+}})
// EXPLAIN: region 1 (%{{.+}}, %{{.+}})
// EXPLAIN: shoal.einsum "IK,KJ->IJ" : tensor<6x8xf32> <@mesh, [{"x"}, {}]>
// EXPLAIN: reshards send 128 bytes per device

// LOCAL-LABEL: @hoisted
// LOCAL: spmd.all_gather
// LOCAL: shoal.while ({{.*}}) : tensor<i32>, tensor<3x8xf32> cond {
// LOCAL-NOT: spmd.
// LOCAL: return
func.func @hoisted(%h0: tensor<6x8xf32>, %w: tensor<8x8xf32>) -> tensor<6x8xf32> {
  %hs = shoal.sharding_constraint %h0 <@mesh, [{"x"}, {}]> : tensor<6x8xf32>
  %ws = shoal.sharding_constraint %w <@mesh, [{}, {"y"}]> : tensor<8x8xf32>
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %four = arith.constant dense<4> : tensor<i32>
  %r:2 = shoal.while (%i = %zero, %h = %hs) : tensor<i32>, tensor<6x8xf32> cond {
    %more = arith.cmpi slt, %i, %four : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %next = arith.addi %i, %one : tensor<i32>
    %p = shoal.einsum "IK,KJ->IJ" %h, %ws : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
    %a = shoal.relu %p : tensor<6x8xf32>
    shoal.yield %next, %a : tensor<i32>, tensor<6x8xf32>
  }
  return %r#1 : tensor<6x8xf32>
}

// The sum of the products stays partial around the loop: one all_reduce behind
// it instead of one a trip.

// CHECK-LABEL: @partial_sum
// CHECK: shoal.while
// CHECK: shoal.shardings = [#shoal.sharding<@mesh, []>, #shoal.sharding<@mesh, [{"y"}, {}], partial = {"x"}>
// LOCAL-LABEL: @partial_sum
// LOCAL: shoal.while
// LOCAL-NOT: spmd.all_reduce
// LOCAL: shoal.yield {{.*}} : tensor<i32>, tensor<3x8xf32>, tensor<3x32xf32>
// LOCAL: spmd.all_reduce sum @mesh {"x"}
func.func @partial_sum(%a: tensor<6x64xf32>, %b: tensor<64x8xf32>) -> tensor<6x8xf32> {
  %as = shoal.sharding_constraint %a <@mesh, [{}, {"x"}]> : tensor<6x64xf32>
  %bs = shoal.sharding_constraint %b <@mesh, [{"x"}, {}]> : tensor<64x8xf32>
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %four = arith.constant dense<4> : tensor<i32>
  %none = arith.constant dense<0.0> : tensor<6x8xf32>
  %r:3 = shoal.while (%i = %zero, %s = %none, %l = %as) : tensor<i32>, tensor<6x8xf32>, tensor<6x64xf32> cond {
    %more = arith.cmpi slt, %i, %four : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %next = arith.addi %i, %one : tensor<i32>
    %p = shoal.einsum "IK,KJ->IJ" %l, %bs : (tensor<6x64xf32>, tensor<64x8xf32>) -> tensor<6x8xf32>
    %t = arith.addf %s, %p : tensor<6x8xf32>
    %e = math.tanh %l : tensor<6x64xf32>
    shoal.yield %next, %t, %e : tensor<i32>, tensor<6x8xf32>, tensor<6x64xf32>
  }
  %y = shoal.sharding_constraint %r#1 <@mesh, [{}, {}]> : tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}

// The condition is a sum over all devices, whole on each of them.

// LOCAL-LABEL: @until
// LOCAL: shoal.while (%[[V:.+]] = %{{.+}}, %{{.+}} = %{{.+}}) : tensor<256xf32>, tensor<i32> cond {
// LOCAL: %[[PART:.+]] = shoal.reduce sum
// LOCAL: %[[SUM:.+]] = spmd.all_reduce sum @mesh {"x", "y"} %[[PART]]
// LOCAL: arith.cmpf ogt, %[[SUM]]
func.func @until(%x: tensor<1024xf32>) -> (tensor<1024xf32>, tensor<i32>) {
  %xs = shoal.sharding_constraint %x <@mesh, [{"x", "y"}]> : tensor<1024xf32>
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %half = arith.constant dense<0.5> : tensor<1024xf32>
  %limit = arith.constant dense<1.0> : tensor<f32>
  %r:2 = shoal.while (%v = %xs, %n = %zero) : tensor<1024xf32>, tensor<i32> cond {
    %a = math.absf %v : tensor<1024xf32>
    %s = shoal.reduce sum %a dims = [0] : tensor<1024xf32> -> tensor<f32>
    %more = arith.cmpf ogt, %s, %limit : tensor<f32>
    shoal.yield %more : tensor<i1>
  } do {
    %w = arith.mulf %v, %half : tensor<1024xf32>
    %m = arith.addi %n, %one : tensor<i32>
    shoal.yield %w, %m : tensor<1024xf32>, tensor<i32>
  }
  return %r#0, %r#1 : tensor<1024xf32>, tensor<i32>
}

// Two branches that want different shardings agree at their yields.

// CHECK-LABEL: @branches
// CHECK: shoal.case
// CHECK: math.exp
// CHECK: }, {
// CHECK: shoal.sharding_constraint {{.*}}[{}, {"y"}]>
// CHECK: %[[Y:.+]] = shoal.reshard
// CHECK-NEXT: shoal.yield %[[Y]]
func.func @branches(%i: tensor<i32>, %x: tensor<7x8xf32>, %w: tensor<8x8xf32>) -> tensor<7x8xf32> {
  %r = shoal.case %i : (tensor<i32>) -> tensor<7x8xf32> {
    %a = shoal.sharding_constraint %x <@mesh, [{"x"}, {}]> : tensor<7x8xf32>
    %b = math.exp %a : tensor<7x8xf32>
    shoal.yield %b : tensor<7x8xf32>
  }, {
    %p = shoal.einsum "IK,KJ->IJ" %x, %w : (tensor<7x8xf32>, tensor<8x8xf32>) -> tensor<7x8xf32>
    %c = shoal.sharding_constraint %p <@mesh, [{}, {"y"}]> : tensor<7x8xf32>
    shoal.yield %c : tensor<7x8xf32>
  }
  return %r : tensor<7x8xf32>
}

// Each operand of a barrier lies as is best for itself, whatever the others do:
// the same axis splits both, and another operand is a partial sum over it.

// CHECK-LABEL: @barrier
// CHECK-NOT: shoal.reshard
// CHECK: shoal.optimization_barrier {{.*}}shoal.shardings = [#shoal.sharding<@mesh, [{"x"}, {}]>, #shoal.sharding<@mesh, [{}, {"x"}]>, #shoal.sharding<@mesh, [], partial = {"x"}>]
// CHECK: shoal.reshard {{.*}}<@mesh, [], partial = {"x"}>
// LOCAL-LABEL: @barrier
// LOCAL: shoal.optimization_barrier {{.*}} : tensor<3x8xf32>, tensor<8x3xf32>, tensor<f32>
// LOCAL: spmd.all_reduce sum @mesh {"x"}
// LOCAL-NOT: spmd.all_
// LOCAL: return
func.func @barrier(%a: tensor<6x8xf32>, %b: tensor<8x6xf32>) -> (tensor<6x8xf32>, tensor<8x6xf32>) {
  %as = shoal.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<6x8xf32>
  %bs = shoal.sharding_constraint %b <@mesh, [{}, {"x"}]> : tensor<8x6xf32>
  %s = shoal.reduce sum %as dims = [0, 1] : tensor<6x8xf32> -> tensor<f32>
  %r:3 = shoal.optimization_barrier %as, %bs, %s : tensor<6x8xf32>, tensor<8x6xf32>, tensor<f32>
  %all = shoal.broadcast_in_dim %r#2 dims = [] : tensor<f32> -> tensor<6x8xf32>
  %y = arith.mulf %r#0, %all : tensor<6x8xf32>
  %z = math.exp %r#1 : tensor<8x6xf32>
  %ys = shoal.sharding_constraint %y <@mesh, [{"x"}, {}]> : tensor<6x8xf32>
  %zs = shoal.sharding_constraint %z <@mesh, [{}, {"x"}]> : tensor<8x6xf32>
  return %ys, %zs : tensor<6x8xf32>, tensor<8x6xf32>
}
