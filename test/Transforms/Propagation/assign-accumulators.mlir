// What a loop adds to is a partial sum all around the loop, and reduced once
// behind it: of 16384 bytes of gradient each of 4 devices keeps a quarter. A collective in a loop counts as often as it runs.
//
// RUN: shoal-opt %s --shoal-partition=flops-per-byte=1000 --shoal-print-collectives -o /dev/null 2>&1 | FileCheck %s
// RUN: shoal-run %s --entry=split_state --random-inputs=1 --compare --tolerance=1e-4
// RUN: shoal-run %s --entry=decayed --random-inputs=1 --compare
// RUN: shoal-run %s --entry=needed_in_the_loop --random-inputs=1 --compare

shoal.mesh @mesh = <["data" = 4]>

#rows = #shoal.sharding<@mesh, [{}, {"data"}, {}]>
#whole = #shoal.sharding<@mesh, [{}, {}]>
#state = #shoal.sharding<@mesh, [{"data"}, {}]>

// Two layers with Adam, whose moments are split (ZeRO) and parameters not. Both
// sums begin with one constant, which others read, too: it stays where they
// need it only as long as one sum is moved alone.
// CHECK-LABEL: @split_state
// CHECK-NEXT: reduce_scatter {"data"} {{.*}} 24576 bytes, for 2 combined
// CHECK-NEXT: all_gather {"data"} {{.*}} 24576 bytes, for 2 combined
// CHECK-NEXT: in all 49152 bytes
func.func @split_state(%x: tensor<4x1024x64xf32> {shoal.sharding = #rows},
    %a: tensor<64x64xf32> {shoal.sharding = #whole}, %b: tensor<64x64xf32> {shoal.sharding = #whole}, %va: tensor<64x64xf32> {shoal.sharding = #state}, %vb: tensor<64x64xf32> {shoal.sharding = #state})
    -> (tensor<64x64xf32> {shoal.sharding = #whole}, tensor<64x64xf32> {shoal.sharding = #whole}, tensor<64x64xf32> {shoal.sharding = #state}, tensor<64x64xf32> {shoal.sharding = #state}) {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %decay = arith.constant dense<0.999> : tensor<64x64xf32>
  %flat = arith.constant dense<1.0> : tensor<1024x64xf32>
  %i0 = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %four = arith.constant dense<4> : tensor<i32>
  %n, %ga, %gb = shoal.while (%i = %i0, %sa = %zero, %sb = %zero) : tensor<i32>, tensor<64x64xf32>, tensor<64x64xf32> cond {
    %more = arith.cmpi slt, %i, %four : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %row = shoal.dynamic_slice %x[%i, %i0, %i0] sizes = [1, 1024, 64] : (tensor<4x1024x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x1024x64xf32>
    %xi = shoal.reshape %row : tensor<1x1024x64xf32> -> tensor<1024x64xf32>
    %h0 = shoal.einsum "IK,KJ->IJ" %xi, %a : (tensor<1024x64xf32>, tensor<64x64xf32>) -> tensor<1024x64xf32>
    %h = math.tanh %h0 : tensor<1024x64xf32>
    %y0 = shoal.einsum "IK,KJ->IJ" %h, %b : (tensor<1024x64xf32>, tensor<64x64xf32>) -> tensor<1024x64xf32>
    %y = math.tanh %y0 : tensor<1024x64xf32>
    %yy = arith.mulf %y, %y : tensor<1024x64xf32>
    %dy0 = arith.subf %flat, %yy : tensor<1024x64xf32>
    %dy = arith.mulf %y, %dy0 : tensor<1024x64xf32>
    %dh = shoal.einsum "IJ,KJ->IK" %dy, %b : (tensor<1024x64xf32>, tensor<64x64xf32>) -> tensor<1024x64xf32>
    %db = shoal.einsum "IJ,IK->KJ" %dy, %h : (tensor<1024x64xf32>, tensor<1024x64xf32>) -> tensor<64x64xf32>
    %hh = arith.mulf %h, %h : tensor<1024x64xf32>
    %dh0 = arith.subf %flat, %hh : tensor<1024x64xf32>
    %dh1 = arith.mulf %dh, %dh0 : tensor<1024x64xf32>
    %da = shoal.einsum "IJ,IK->KJ" %dh1, %xi : (tensor<1024x64xf32>, tensor<1024x64xf32>) -> tensor<64x64xf32>
    %na = arith.addf %sa, %da : tensor<64x64xf32>
    %nb = arith.addf %sb, %db : tensor<64x64xf32>
    %j = arith.addi %i, %one : tensor<i32>
    shoal.yield %j, %na, %nb : tensor<i32>, tensor<64x64xf32>, tensor<64x64xf32>
  }
  %ma = arith.mulf %ga, %decay : tensor<64x64xf32>
  %squarea = arith.mulf %ga, %ga : tensor<64x64xf32>
  %olda = arith.mulf %va, %decay : tensor<64x64xf32>
  %v1a = arith.addf %olda, %squarea : tensor<64x64xf32>
  %shifteda = arith.addf %v1a, %zero : tensor<64x64xf32>
  %roota = math.sqrt %shifteda : tensor<64x64xf32>
  %stepa = arith.divf %ma, %roota : tensor<64x64xf32>
  %newa = arith.subf %a, %stepa : tensor<64x64xf32>
  %mb = arith.mulf %gb, %decay : tensor<64x64xf32>
  %squareb = arith.mulf %gb, %gb : tensor<64x64xf32>
  %oldb = arith.mulf %vb, %decay : tensor<64x64xf32>
  %v1b = arith.addf %oldb, %squareb : tensor<64x64xf32>
  %shiftedb = arith.addf %v1b, %zero : tensor<64x64xf32>
  %rootb = math.sqrt %shiftedb : tensor<64x64xf32>
  %stepb = arith.divf %mb, %rootb : tensor<64x64xf32>
  %newb = arith.subf %b, %stepb : tensor<64x64xf32>
  return %newa, %newb, %v1a, %v1b : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
}

// Other linear ops on the way: a moving sum.
// CHECK-LABEL: @decayed
// CHECK-NEXT: reduce_scatter {"data"} {{.*}} 12288 bytes, for
// CHECK-NEXT: in all 12288 bytes
func.func @decayed(%x: tensor<4x1024x64xf32> {shoal.sharding = #rows}) -> (tensor<64x64xf32> {shoal.sharding = #state}) {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %half = arith.constant dense<0.5> : tensor<64x64xf32>
  %i0 = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %four = arith.constant dense<4> : tensor<i32>
  %n, %g = shoal.while (%i = %i0, %sum = %zero) : tensor<i32>, tensor<64x64xf32> cond {
    %more = arith.cmpi slt, %i, %four : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %row = shoal.dynamic_slice %x[%i, %i0, %i0] sizes = [1, 1024, 64] : (tensor<4x1024x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x1024x64xf32>
    %xi = shoal.reshape %row : tensor<1x1024x64xf32> -> tensor<1024x64xf32>
    %t = math.tanh %xi : tensor<1024x64xf32>
    %dw = shoal.einsum "IJ,IK->KJ" %t, %xi : (tensor<1024x64xf32>, tensor<1024x64xf32>) -> tensor<64x64xf32>
    %less = arith.mulf %sum, %half : tensor<64x64xf32>
    %next = arith.addf %less, %dw : tensor<64x64xf32>
    %j = arith.addi %i, %one : tensor<i32>
    shoal.yield %j, %next : tensor<i32>, tensor<64x64xf32>
  }
  %square = arith.mulf %g, %g : tensor<64x64xf32>
  return %square : tensor<64x64xf32>
}

// The next turn needs the sum.
// CHECK-LABEL: @needed_in_the_loop
// CHECK-NEXT: reduce_scatter {"data"} {{.*}} 12288 bytes, 4 times, for
// CHECK-NEXT: in all 49152 bytes in 1 collectives
func.func @needed_in_the_loop(%x: tensor<4x1024x64xf32> {shoal.sharding = #rows}) -> (tensor<64x64xf32> {shoal.sharding = #state}) {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %i0 = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %four = arith.constant dense<4> : tensor<i32>
  %n, %g = shoal.while (%i = %i0, %sum = %zero) : tensor<i32>, tensor<64x64xf32> cond {
    %more = arith.cmpi slt, %i, %four : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %row = shoal.dynamic_slice %x[%i, %i0, %i0] sizes = [1, 1024, 64] : (tensor<4x1024x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x1024x64xf32>
    %xi = shoal.reshape %row : tensor<1x1024x64xf32> -> tensor<1024x64xf32>
    %t = math.tanh %xi : tensor<1024x64xf32>
    %dw = shoal.einsum "IJ,IK->KJ" %t, %xi : (tensor<1024x64xf32>, tensor<1024x64xf32>) -> tensor<64x64xf32>
    %bent = math.tanh %sum : tensor<64x64xf32>
    %next = arith.addf %bent, %dw : tensor<64x64xf32>
    %j = arith.addi %i, %one : tensor<i32>
    shoal.yield %j, %next : tensor<i32>, tensor<64x64xf32>
  }
  return %g : tensor<64x64xf32>
}
