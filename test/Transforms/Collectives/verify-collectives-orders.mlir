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
