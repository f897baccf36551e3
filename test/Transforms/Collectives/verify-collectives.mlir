// Programs in which all devices run the same collectives, although not all
// values are the same.
//
// RUN: shoal-opt %s --shoal-verify-collectives | FileCheck %s

shoal.mesh @mesh = <["x" = 2, "y" = 2]>

// The sum over x is the same along x.
// CHECK-LABEL: @reduced_predicate
func.func @reduced_predicate(%p: tensor<i32> {shoal.sharding = #shoal.sharding<@mesh, [], partial = {"x"}>},
                             %a: tensor<2xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}) -> tensor<2xf32> attributes {shoal.spmd} {
  %0 = spmd.all_reduce sum @mesh {"x"} %p : tensor<i32>
  %zero = arith.constant 0 : i32
  %1 = tensor.extract %0[] : tensor<i32>
  %2 = arith.cmpi sgt, %1, %zero : i32
  %3 = scf.if %2 -> tensor<2xf32> {
    %4 = spmd.all_reduce sum @mesh {"x"} %a : tensor<2xf32>
    scf.yield %4 : tensor<2xf32>
  } else {
    scf.yield %a : tensor<2xf32>
  }
  return %3 : tensor<2xf32>
}

// Devices of different x go different ways; groups over y go one way.
// CHECK-LABEL: @groups_that_agree
func.func @groups_that_agree(%a: tensor<2xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}]>}) -> tensor<2xf32> attributes {shoal.spmd} {
  %0 = spmd.axis_index @mesh {"x"} : tensor<i32>
  %zero = arith.constant 0 : i32
  %1 = tensor.extract %0[] : tensor<i32>
  %2 = arith.cmpi sgt, %1, %zero : i32
  %3 = scf.if %2 -> tensor<2xf32> {
    %4 = spmd.all_reduce sum @mesh {"y"} %a : tensor<2xf32>
    scf.yield %4 : tensor<2xf32>
  } else {
    scf.yield %a : tensor<2xf32>
  }
  return %3 : tensor<2xf32>
}

// A loop whose value becomes the same on all devices before it decides.
// CHECK-LABEL: @loop
func.func @loop(%a: tensor<f32> {shoal.sharding = #shoal.sharding<@mesh, [], partial = {"x"}>}) -> tensor<f32> attributes {shoal.spmd} {
  %limit = arith.constant 10.0 : f32
  %0 = scf.while (%v = %a) : (tensor<f32>) -> tensor<f32> {
    %1 = spmd.all_reduce sum @mesh {"x"} %v : tensor<f32>
    %2 = tensor.extract %1[] : tensor<f32>
    %3 = arith.cmpf olt, %2, %limit : f32
    scf.condition(%3) %v : tensor<f32>
  } do {
  ^bb0(%v: tensor<f32>):
    scf.yield %v : tensor<f32>
  }
  return %0 : tensor<f32>
}

// Each result of an op that only forwards varies as its operand does.
// CHECK-LABEL: func.func @forwarded_side_by_side
func.func @forwarded_side_by_side(%a: tensor<4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>}, %limit: tensor<f32> {shoal.sharding = #shoal.sharding<@mesh, []>}) -> tensor<4xf32> attributes {shoal.spmd} {
  %0 = shoal.while (%v = %a) : tensor<4xf32> cond {
    %1 = shoal.reduce max %v dims = [0] : tensor<4xf32> -> tensor<f32>
    %2 = arith.cmpf olt, %1, %limit : tensor<f32>
    shoal.yield %2 : tensor<i1>
  } do {
    %1 = spmd.all_slice @mesh [{"x"}] %v : tensor<4xf32> -> tensor<2xf32>
    %2:2 = shoal.custom_call "identity"(%1, %v) {rule = "a,b->a,b"} : (tensor<2xf32>, tensor<4xf32>) -> (tensor<2xf32>, tensor<4xf32>)
    %3:2 = shoal.optimization_barrier %2#0, %2#1 : tensor<2xf32>, tensor<4xf32>
    // CHECK: spmd.all_gather
    %4 = spmd.all_gather @mesh [{"x"}] %3#0 : tensor<2xf32> -> tensor<4xf32>
    %5 = arith.addf %4, %3#1 : tensor<4xf32>
    shoal.yield %3#1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
