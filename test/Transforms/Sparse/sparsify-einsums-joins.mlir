// Masks that loops carry and choices yield: what their sources agree on stays,
// places and values that differ are carried in place of the mask.
//
// RUN: shoal-opt %s -split-input-file --shoal-sparsify-einsums=min-gain=0 | FileCheck %s --implicit-check-not=unrealized
// RUN: shoal-opt %s -split-input-file --shoal-sparsify-einsums=min-gain=0 --canonicalize | FileCheck %s --check-prefix=GONE --implicit-check-not=7x16xf32

// GONE: module

// A mask that is carried around unchanged is that in front of the loop.
// CHECK-LABEL: @carried_unchanged(
// CHECK-SAME: %[[T:.*]]: tensor<7xi32>
// CHECK: shoal.while (%{{[^,]*}} = %{{[^,]*}}, %{{[^,]*}} = %{{[^,]*}}) : tensor<i32>, tensor<7x12xf32> cond
// CHECK: shoal.gather %{{.*}}, %[[T]]
// CHECK-NOT: shoal.einsum "TV
func.func @carried_unchanged(%t: tensor<7xi32>, %x: tensor<16x12xf32>, %n: tensor<i32>) -> tensor<7x12xf32> {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %none = arith.constant dense<0.0> : tensor<7x12xf32>
  %i = shoal.iota dim = 1 : tensor<7x16xi32>
  %b = shoal.broadcast_in_dim %t dims = [0] : tensor<7xi32> -> tensor<7x16xi32>
  %m = arith.cmpi eq, %b, %i : tensor<7x16xi32>
  %h = arith.uitofp %m : tensor<7x16xi1> to tensor<7x16xf32>
  %r:3 = shoal.while (%k = %zero, %y = %none, %mask = %h) : tensor<i32>, tensor<7x12xf32>, tensor<7x16xf32> cond {
    %more = arith.cmpi slt, %k, %n : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %next = arith.addi %k, %one : tensor<i32>
    %rows = shoal.einsum "TV,VM->TM" %mask, %x : (tensor<7x16xf32>, tensor<16x12xf32>) -> tensor<7x12xf32>
    %sum = arith.addf %y, %rows : tensor<7x12xf32>
    shoal.yield %next, %sum, %mask : tensor<i32>, tensor<7x12xf32>, tensor<7x16xf32>
  }
  return %r#1 : tensor<7x12xf32>
}

// -----

// One that is made for the next time: the places are carried, and read behind
// the loop, too. A one is a one each time.
// CHECK-LABEL: @places_are_carried(
// CHECK-SAME: %[[T:.*]]: tensor<7xi32>
// CHECK: %[[R:.*]]:3 = shoal.while ({{.*}}, %[[P:.*]] = %[[T]]) : tensor<i32>, tensor<7x12xf32>, tensor<7xi32> cond
// CHECK: do
// CHECK: shoal.gather %{{.*}}, %[[P]]
// CHECK: %[[NEXT:.*]] = shoal.argmax
// CHECK: shoal.yield %{{.*}}, %{{.*}}, %[[NEXT]] : tensor<i32>, tensor<7x12xf32>, tensor<7xi32>
// CHECK: shoal.gather %{{.*}}, %[[R]]#2
func.func @places_are_carried(%t: tensor<7xi32>, %x: tensor<16x12xf32>, %w: tensor<12x16xf32>, %n: tensor<i32>) -> tensor<7x12xf32> {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %none = arith.constant dense<0.0> : tensor<7x12xf32>
  %i = shoal.iota dim = 1 : tensor<7x16xi32>
  %b = shoal.broadcast_in_dim %t dims = [0] : tensor<7xi32> -> tensor<7x16xi32>
  %m = arith.cmpi eq, %b, %i : tensor<7x16xi32>
  %h = arith.uitofp %m : tensor<7x16xi1> to tensor<7x16xf32>
  %r:3 = shoal.while (%k = %zero, %y = %none, %mask = %h) : tensor<i32>, tensor<7x12xf32>, tensor<7x16xf32> cond {
    %more = arith.cmpi slt, %k, %n : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %next = arith.addi %k, %one : tensor<i32>
    %rows = shoal.einsum "TV,VM->TM" %mask, %x : (tensor<7x16xf32>, tensor<16x12xf32>) -> tensor<7x12xf32>
    %v = shoal.einsum "TM,MV->VT" %rows, %w : (tensor<7x12xf32>, tensor<12x16xf32>) -> tensor<16x7xf32>
    %best = shoal.argmax %v dim = 0 : tensor<16x7xf32> -> tensor<7xi32>
    %nb = shoal.broadcast_in_dim %best dims = [0] : tensor<7xi32> -> tensor<7x16xi32>
    %nm = arith.cmpi eq, %nb, %i : tensor<7x16xi32>
    %nh = arith.uitofp %nm : tensor<7x16xi1> to tensor<7x16xf32>
    shoal.yield %next, %rows, %nh : tensor<i32>, tensor<7x12xf32>, tensor<7x16xf32>
  }
  %rows = shoal.einsum "TV,VM->TM" %r#2, %x : (tensor<7x16xf32>, tensor<16x12xf32>) -> tensor<7x12xf32>
  %y = arith.addf %r#1, %rows : tensor<7x12xf32>
  return %y : tensor<7x12xf32>
}

// -----

// A choice of masks is a choice of places and of weights.
// CHECK-LABEL: @chosen(
// CHECK-SAME: %[[C:.*]]: tensor<i1>, %[[T:.*]]: tensor<7xi32>, %[[U:.*]]: tensor<7xi32>, %[[W:.*]]: tensor<7xf32>
// CHECK: %[[R:.*]]:2 = shoal.case %[[C]] : (tensor<i1>) -> (tensor<7xi32>, tensor<7xf32>)
// CHECK: shoal.yield %[[T]], %{{.*}} : tensor<7xi32>, tensor<7xf32>
// CHECK: shoal.yield %[[U]], %[[W]] : tensor<7xi32>, tensor<7xf32>
// CHECK: shoal.gather %{{.*}}, %[[R]]#0
func.func @chosen(%c: tensor<i1>, %t: tensor<7xi32>, %u: tensor<7xi32>, %w: tensor<7xf32>, %x: tensor<16x12xf32>) -> tensor<7x12xf32> {
  %i = shoal.iota dim = 1 : tensor<7x16xi32>
  %mask = shoal.case %c : (tensor<i1>) -> tensor<7x16xf32> {
    %b = shoal.broadcast_in_dim %t dims = [0] : tensor<7xi32> -> tensor<7x16xi32>
    %m = arith.cmpi eq, %b, %i : tensor<7x16xi32>
    %h = arith.uitofp %m : tensor<7x16xi1> to tensor<7x16xf32>
    shoal.yield %h : tensor<7x16xf32>
  }, {
    %b = shoal.broadcast_in_dim %u dims = [0] : tensor<7xi32> -> tensor<7x16xi32>
    %m = arith.cmpi eq, %b, %i : tensor<7x16xi32>
    %h = arith.uitofp %m : tensor<7x16xi1> to tensor<7x16xf32>
    %wb = shoal.broadcast_in_dim %w dims = [0] : tensor<7xf32> -> tensor<7x16xf32>
    %s = arith.mulf %h, %wb : tensor<7x16xf32>
    shoal.yield %s : tensor<7x16xf32>
  }
  %y = shoal.einsum "TV,VM->TM" %mask, %x : (tensor<7x16xf32>, tensor<16x12xf32>) -> tensor<7x12xf32>
  return %y : tensor<7x12xf32>
}

// -----

// No mask at first: zeros are one whose places are nowhere, whatever is there.
// CHECK-LABEL: @zeros_at_first(
// CHECK: %[[NOWHERE:.*]] = arith.constant dense<-1> : tensor<7xi32>
// CHECK: shoal.while ({{.*}}%[[P:.*]] = %[[NOWHERE]]) : tensor<i32>, tensor<7x12xf32>, tensor<7xi32>
// CHECK: shoal.gather %{{.*}}, %[[P]]
func.func @zeros_at_first(%t: tensor<7xi32>, %x: tensor<16x12xf32>, %n: tensor<i32>) -> tensor<7x12xf32> {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %none = arith.constant dense<0.0> : tensor<7x12xf32>
  %empty = arith.constant dense<0.0> : tensor<7x16xf32>
  %i = shoal.iota dim = 1 : tensor<7x16xi32>
  %r:3 = shoal.while (%k = %zero, %y = %none, %mask = %empty) : tensor<i32>, tensor<7x12xf32>, tensor<7x16xf32> cond {
    %more = arith.cmpi slt, %k, %n : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %next = arith.addi %k, %one : tensor<i32>
    %rows = shoal.einsum "TV,VM->TM" %mask, %x : (tensor<7x16xf32>, tensor<16x12xf32>) -> tensor<7x12xf32>
    %kb = shoal.broadcast_in_dim %k dims = [] : tensor<i32> -> tensor<7xi32>
    %p = arith.addi %t, %kb : tensor<7xi32>
    %b = shoal.broadcast_in_dim %p dims = [0] : tensor<7xi32> -> tensor<7x16xi32>
    %m = arith.cmpi eq, %b, %i : tensor<7x16xi32>
    %h = arith.uitofp %m : tensor<7x16xi1> to tensor<7x16xf32>
    shoal.yield %next, %rows, %h : tensor<i32>, tensor<7x12xf32>, tensor<7x16xf32>
  }
  return %r#1 : tensor<7x12xf32>
}

// -----

// A loop within a loop, whose mask comes of a choice.
// CHECK-LABEL: @nested(
// CHECK: shoal.while ({{.*}}) : tensor<i32>, tensor<7x12xf32>, tensor<7xi32> cond
// CHECK: shoal.while ({{.*}}) : tensor<i32>, tensor<7x12xf32> cond
// CHECK: shoal.gather
// CHECK: shoal.case {{.*}} -> tensor<7xi32>
func.func @nested(%t: tensor<7xi32>, %x: tensor<16x12xf32>, %n: tensor<i32>, %c: tensor<i1>) -> tensor<7x12xf32> {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %none = arith.constant dense<0.0> : tensor<7x12xf32>
  %i = shoal.iota dim = 1 : tensor<7x16xi32>
  %b = shoal.broadcast_in_dim %t dims = [0] : tensor<7xi32> -> tensor<7x16xi32>
  %m = arith.cmpi eq, %b, %i : tensor<7x16xi32>
  %h = arith.uitofp %m : tensor<7x16xi1> to tensor<7x16xf32>
  %r:3 = shoal.while (%k = %zero, %y = %none, %mask = %h) : tensor<i32>, tensor<7x12xf32>, tensor<7x16xf32> cond {
    %more = arith.cmpi slt, %k, %n : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %next = arith.addi %k, %one : tensor<i32>
    %inner:3 = shoal.while (%j = %zero, %z = %y, %same = %mask) : tensor<i32>, tensor<7x12xf32>, tensor<7x16xf32> cond {
      %more = arith.cmpi slt, %j, %n : tensor<i32>
      shoal.yield %more : tensor<i1>
    } do {
      %after = arith.addi %j, %one : tensor<i32>
      %rows = shoal.einsum "TV,VM->TM" %same, %x : (tensor<7x16xf32>, tensor<16x12xf32>) -> tensor<7x12xf32>
      %sum = arith.addf %z, %rows : tensor<7x12xf32>
      shoal.yield %after, %sum, %same : tensor<i32>, tensor<7x12xf32>, tensor<7x16xf32>
    }
    %chosen = shoal.case %c : (tensor<i1>) -> tensor<7x16xf32> {
      shoal.yield %inner#2 : tensor<7x16xf32>
    }, {
      %kb = shoal.broadcast_in_dim %k dims = [] : tensor<i32> -> tensor<7x16xi32>
      %km = arith.cmpi eq, %kb, %i : tensor<7x16xi32>
      %kh = arith.uitofp %km : tensor<7x16xi1> to tensor<7x16xf32>
      shoal.yield %kh : tensor<7x16xf32>
    }
    shoal.yield %next, %inner#1, %chosen : tensor<i32>, tensor<7x12xf32>, tensor<7x16xf32>
  }
  return %r#1 : tensor<7x12xf32>
}
