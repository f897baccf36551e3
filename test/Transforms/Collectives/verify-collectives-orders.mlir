// Devices in several orders: what is gathered from all devices is the same on
// all, whatever their order; what is gathered along one axis of an order need
// not be the same along that axis of another one.
//
// RUN: shoal-opt %s --split-input-file --verify-diagnostics --shoal-verify-collectives | FileCheck %s

shoal.mesh @mesh = <["x" = 2, "y" = 2, "one" = 1]>
shoal.mesh @other = <["x" = 2, "y" = 2, "one" = 1], device_ids = [3, 1, 2, 0]>

// CHECK-LABEL: @gathered_from_all
func.func @gathered_from_all(%a: tensor<4xf32>{shoal.sharding = #shoal.sharding<@mesh, [{}]>}) -> tensor<4xf32> attributes {shoal.spmd} {
  %zero = arith.constant 0 : index
  %limit = arith.constant 10.0 : f32
  %0 = scf.while (%v = %a) : (tensor<4xf32>) -> tensor<4xf32> {
    %1 = tensor.extract %v[%zero] : tensor<4xf32>
    %2 = arith.cmpf olt, %1, %limit : f32
    scf.condition(%2) %v : tensor<4xf32>
  } do {
  ^bb0(%v: tensor<4xf32>):
    %1 = spmd.all_slice @other [{"x", "y"}] %v : tensor<4xf32> -> tensor<1xf32>
    // CHECK: spmd.all_gather @other [{"y"}]
    %2 = spmd.all_gather @other [{"y"}] %1 : tensor<1xf32> -> tensor<2xf32>
    %3 = spmd.all_gather @other [{"x"}] %2 : tensor<2xf32> -> tensor<4xf32>
    scf.yield %3 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

shoal.mesh @mesh = <["x" = 2, "y" = 2]>
shoal.mesh @other = <["x" = 2, "y" = 2], device_ids = [0, 3, 2, 1]>

func.func @gathered_along_an_axis_of_another_order(%a: tensor<4xf32>{shoal.sharding = #shoal.sharding<@mesh, [{}]>}) -> tensor<2xf32> attributes {shoal.spmd} {
  %zero = arith.constant 0 : index
  %limit = arith.constant 10.0 : f32
  // expected-note @+1 {{it differs because of this spmd.all_slice}}
  %0 = spmd.all_slice @mesh [{"x", "y"}] %a : tensor<4xf32> -> tensor<1xf32>
  %1 = spmd.all_gather @other [{"y"}] %0 : tensor<1xf32> -> tensor<2xf32>
  %2 = tensor.extract %1[%zero] : tensor<2xf32>
  %3 = arith.cmpf olt, %2, %limit : f32
  // expected-error @+1 {{may take another way on other devices along {"y"}}}
  %4 = scf.if %3 -> tensor<2xf32> {
    // expected-note @+1 {{spmd.all_reduce is here}}
    %5 = spmd.all_reduce sum @mesh {"y"} %1 : tensor<2xf32>
    scf.yield %5 : tensor<2xf32>
  } else {
    scf.yield %1 : tensor<2xf32>
  }
  return %4 : tensor<2xf32>
}

// -----

// There and back: what comes back is the same along the axes that it is not
// split over, whatever order it was in between.

shoal.mesh @mesh = <["x" = 3, "y" = 4]>
shoal.mesh @other = <["x" = 3, "y" = 4], device_ids = [0, 1, 2, 3, 4, 5, 6, 8, 7, 9, 10, 11]>

// CHECK-LABEL: @there_and_back
func.func @there_and_back(%a: tensor<2xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}]>}, %limit: tensor<f32> {shoal.sharding = #shoal.sharding<@mesh, []>}) -> tensor<2xf32> attributes {shoal.spmd} {
  %0 = shoal.while (%v = %a) : tensor<2xf32> cond {
    %1 = shoal.reduce max %v dims = [0] : tensor<2xf32> -> tensor<f32>
    %2 = spmd.all_reduce max @mesh {"y"} %1 : tensor<f32>
    %3 = arith.cmpf olt, %2, %limit : tensor<f32>
    shoal.yield %3 : tensor<i1>
  } do {
    // CHECK: spmd.exchange @mesh
    %1 = spmd.exchange @mesh [{"y"}] -> @other [{"x", "y"}] %v shape = [8] : tensor<2xf32> -> tensor<1xf32>
    %2 = spmd.exchange @other [{"x", "y"}] -> @mesh [{"y"}] %1 shape = [8] : tensor<1xf32> -> tensor<2xf32>
    shoal.yield %2 : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}

// -----

// Not so where a device's neighbours in the first order differ beforehand.

shoal.mesh @mesh = <["x" = 3, "y" = 4]>
shoal.mesh @other = <["x" = 3, "y" = 4], device_ids = [0, 1, 2, 3, 4, 5, 6, 8, 7, 9, 10, 11]>

// expected-note @below {{it differs because of argument 0}}
func.func @different_before(%a: tensor<2xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}, %limit: tensor<f32> {shoal.sharding = #shoal.sharding<@mesh, []>}) -> tensor<2xf32> attributes {shoal.spmd} {
  // expected-error @below {{may take another way on other devices along {"x"}}}
  %0 = shoal.while (%v = %a) : tensor<2xf32> cond {
    %1 = shoal.reduce max %v dims = [0] : tensor<2xf32> -> tensor<f32>
    %2 = spmd.all_reduce max @mesh {"y"} %1 : tensor<f32>
    %3 = arith.cmpf olt, %2, %limit : tensor<f32>
    shoal.yield %3 : tensor<i1>
  } do {
    // expected-note @below {{is here}}
    %1 = spmd.exchange @mesh [{"y"}] -> @other [{"x", "y"}] %v shape = [8] : tensor<2xf32> -> tensor<1xf32>
    %2 = spmd.exchange @other [{"x", "y"}] -> @mesh [{"y"}] %1 shape = [8] : tensor<1xf32> -> tensor<2xf32>
    shoal.yield %2 : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}
