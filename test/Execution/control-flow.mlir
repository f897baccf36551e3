// RUN: rm -rf %t && split-file %s %t
// RUN: shoal-run %t/layers.mlir --random-inputs=3 --compare | FileCheck %s
// RUN: shoal-run %t/until.mlir --random-inputs=3 --compare | FileCheck %s --check-prefix=UNTIL
// RUN: shoal-run %t/branches.mlir --random-inputs=3 --compare | FileCheck %s --check-prefix=BRANCHES
// RUN: shoal-run %t/convolutions.mlir --random-inputs=3 --compare | FileCheck %s --check-prefix=CONVOLUTIONS

// Loops and branches on uneven shards: the partitioned program computes what the
// global one does.

// Three Mixture-of-Experts layers with shared weights, in a counted loop.
// CHECK: y: {{.*}}: ok
// CHECK: aux: {{.*}}: ok

//--- layers.mlir

shoal.mesh @mesh = <["x" = 4]>
func.func @main(%x: tensor<7x13x9xf32> {shoal.name = "x"}, %wg: tensor<9x5xf32>, %wi: tensor<5x9x11xf32>, %wo: tensor<5x11x9xf32>)
    -> (tensor<7x13x9xf32> {shoal.name = "y"}, tensor<f32> {shoal.name = "aux"}) {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %three = arith.constant dense<3> : tensor<i32>
  %none = arith.constant dense<0.0> : tensor<f32>
  %r:3 = shoal.while (%i = %zero, %a = %x, %loss = %none) : tensor<i32>, tensor<7x13x9xf32>, tensor<f32> cond {
    %more = arith.cmpi slt, %i, %three : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %xs = shoal.split %a {dim = 0, num_partitions = 4} : tensor<7x13x9xf32>
    %logit = shoal.einsum "GSM,ME->GSE" %xs, %wg : (tensor<7x13x9xf32>, tensor<9x5xf32>) -> tensor<7x13x5xf32>
    %gates = shoal.softmax %logit {axis = 2} : tensor<7x13x5xf32>
    %combine, %dispatch, %aux = shoal.top_k_gating %gates {k = 2, capacity = 3} : tensor<7x13x5xf32> -> tensor<7x13x5x3xf32>, tensor<7x13x5x3xf32>, tensor<f32>
    %d0 = shoal.einsum "GSEC,GSM->EGCM" %dispatch, %xs : (tensor<7x13x5x3xf32>, tensor<7x13x9xf32>) -> tensor<5x7x3x9xf32>
    %d = shoal.split %d0 {dim = 0, num_partitions = 4} : tensor<5x7x3x9xf32>
    %h0 = shoal.einsum "EGCM,EMH->EGCH" %d, %wi : (tensor<5x7x3x9xf32>, tensor<5x9x11xf32>) -> tensor<5x7x3x11xf32>
    %h = shoal.relu %h0 : tensor<5x7x3x11xf32>
    %e = shoal.einsum "EGCH,EHM->GECM" %h, %wo : (tensor<5x7x3x11xf32>, tensor<5x11x9xf32>) -> tensor<7x5x3x9xf32>
    %es = shoal.split %e {dim = 0, num_partitions = 4} : tensor<7x5x3x9xf32>
    %y = shoal.einsum "GSEC,GECM->GSM" %combine, %es : (tensor<7x13x5x3xf32>, tensor<7x5x3x9xf32>) -> tensor<7x13x9xf32>
    %sum = arith.addf %loss, %aux : tensor<f32>
    %next = arith.addi %i, %one : tensor<i32>
    shoal.yield %next, %y, %sum : tensor<i32>, tensor<7x13x9xf32>, tensor<f32>
  }
  return %r#1, %r#2 : tensor<7x13x9xf32>, tensor<f32>
}

// The condition is a sum over rows of all devices.
// UNTIL: result0: {{.*}}: ok
// UNTIL: result1: {{.*}}: ok

//--- until.mlir

shoal.mesh @mesh = <["x" = 2, "y" = 2]>
func.func @main(%x: tensor<1021xf32>) -> (tensor<1021xf32>, tensor<i32>) {
  %xs = shoal.sharding_constraint %x <@mesh, [{"x", "y"}]> : tensor<1021xf32>
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %half = arith.constant dense<0.5> : tensor<1021xf32>
  %limit = arith.constant dense<1.0> : tensor<f32>
  %r:2 = shoal.while (%v = %xs, %n = %zero) : tensor<1021xf32>, tensor<i32> cond {
    %a = math.absf %v : tensor<1021xf32>
    %s = shoal.reduce sum %a dims = [0] : tensor<1021xf32> -> tensor<f32>
    %more = arith.cmpf ogt, %s, %limit : tensor<f32>
    shoal.yield %more : tensor<i1>
  } do {
    %w = arith.mulf %v, %half : tensor<1021xf32>
    %b = shoal.optimization_barrier %w : tensor<1021xf32>
    %m = arith.addi %n, %one : tensor<i32>
    shoal.yield %b, %m : tensor<1021xf32>, tensor<i32>
  }
  return %r#0, %r#1 : tensor<1021xf32>, tensor<i32>
}

// A loop over a choice of three branches, each split otherwise; carried values
// change places.
// BRANCHES: result0: {{.*}}: ok
// BRANCHES: result1: {{.*}}: ok

//--- branches.mlir

shoal.mesh @mesh = <["x" = 2, "y" = 2]>
func.func @main(%x: tensor<7x5xf32>, %y: tensor<7x5xf32>, %w: tensor<5x5xf32>) -> (tensor<7x5xf32>, tensor<7x5xf32>) {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %five = arith.constant dense<5> : tensor<i32>
  %r:3 = shoal.while (%i = %zero, %a = %x, %b = %y) : tensor<i32>, tensor<7x5xf32>, tensor<7x5xf32> cond {
    %more = arith.cmpi slt, %i, %five : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %c = shoal.case %i : (tensor<i32>) -> tensor<7x5xf32> {
      %s = shoal.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<7x5xf32>
      %e = math.tanh %s : tensor<7x5xf32>
      shoal.yield %e : tensor<7x5xf32>
    }, {
      %p = shoal.einsum "IK,KJ->IJ" %a, %w : (tensor<7x5xf32>, tensor<5x5xf32>) -> tensor<7x5xf32>
      %s = shoal.sharding_constraint %p <@mesh, [{}, {"y"}]> : tensor<7x5xf32>
      shoal.yield %s : tensor<7x5xf32>
    }, {
      shoal.yield %b : tensor<7x5xf32>
    }
    %next = arith.addi %i, %one : tensor<i32>
    shoal.yield %next, %b, %c : tensor<i32>, tensor<7x5xf32>, tensor<7x5xf32>
  }
  return %r#1, %r#2 : tensor<7x5xf32>, tensor<7x5xf32>
}

// Layers of a network of convolutions, each device with some of the images: 1.6
// billion products.
// CONVOLUTIONS: y: {{.*}}: ok

//--- convolutions.mlir

shoal.mesh @mesh = <["x" = 4]>
func.func @main(%x: tensor<16x32x32x32xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}, {}, {}]>}, %k: tensor<3x3x32x32xf32>)
    -> (tensor<16x32x32x32xf32> {shoal.name = "y"}) {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %five = arith.constant dense<5> : tensor<i32>
  %scale = arith.constant dense<0.05> : tensor<16x32x32x32xf32>
  %r:2 = shoal.while (%i = %zero, %a = %x) : tensor<i32>, tensor<16x32x32x32xf32> cond {
    %more = arith.cmpi slt, %i, %five : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %c = shoal.convolution "b01f,01io->b01f" %a, %k low = [1, 1] high = [1, 1] : tensor<16x32x32x32xf32>, tensor<3x3x32x32xf32> -> tensor<16x32x32x32xf32>
    // Small, as differences of rounding would grow from trip to trip.
    %small = arith.mulf %c, %scale : tensor<16x32x32x32xf32>
    %t = math.tanh %small : tensor<16x32x32x32xf32>
    %next = arith.addi %i, %one : tensor<i32>
    shoal.yield %next, %t : tensor<i32>, tensor<16x32x32x32xf32>
  }
  return %r#1 : tensor<16x32x32x32xf32>
}
