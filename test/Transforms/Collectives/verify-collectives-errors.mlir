// RUN: shoal-opt %s --split-input-file --verify-diagnostics --shoal-verify-collectives

shoal.mesh @mesh = <["x" = 2, "y" = 2]>

func.func @device_index_decides(%a: tensor<2xf32>) -> tensor<2xf32> attributes {shoal.spmd} {
  // expected-note @below {{it differs because of this spmd.axis_index}}
  %0 = spmd.axis_index @mesh {"x"} : tensor<i32>
  %zero = arith.constant 0 : i32
  %1 = tensor.extract %0[] : tensor<i32>
  %2 = arith.cmpi sgt, %1, %zero : i32
  // expected-error @below {{'scf.if' op may take another way on other devices along {"x"}, but holds a collective over {"x", "y"}: devices that skip it leave the others waiting}}
  %3 = scf.if %2 -> tensor<2xf32> {
    // expected-note @below {{spmd.all_reduce is here}}
    %4 = spmd.all_reduce sum @mesh {"x", "y"} %a : tensor<2xf32>
    scf.yield %4 : tensor<2xf32>
  } else {
    scf.yield %a : tensor<2xf32>
  }
  return %3 : tensor<2xf32>
}

// -----

shoal.mesh @mesh = <["x" = 2, "y" = 2]>

// expected-note @below {{it differs because of argument 0}}
func.func @split_argument_decides(%p: tensor<1xi1> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}]>}, %a: tensor<2xf32>) -> tensor<2xf32> attributes {shoal.spmd} {
  %i = arith.constant 0 : index
  %0 = tensor.extract %p[%i] : tensor<1xi1>
  // expected-error @below {{may take another way on other devices along {"y"}}}
  %1 = scf.if %0 -> tensor<2xf32> {
    %t = arith.constant true
    %2 = scf.if %t -> tensor<2xf32> {
      // expected-note @below {{spmd.all_reduce is here}}
      %3 = spmd.all_reduce sum @mesh {"y"} %a : tensor<2xf32>
      scf.yield %3 : tensor<2xf32>
    } else {
      scf.yield %a : tensor<2xf32>
    }
    scf.yield %2 : tensor<2xf32>
  } else {
    scf.yield %a : tensor<2xf32>
  }
  return %1 : tensor<2xf32>
}

// -----

// The loop ends sooner on some devices: what it counted differs.
shoal.mesh @mesh = <["x" = 2]>

// expected-note @below {{it differs because of argument 0}}
func.func @loop_of_unknown_length(%a: tensor<f32> {shoal.sharding = #shoal.sharding<@mesh, [], partial = {"x"}>}, %c: i32) -> tensor<f32> attributes {shoal.spmd} {
  %limit = arith.constant 10.0 : f32
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %0:2 = scf.while (%v = %a, %n = %zero) : (tensor<f32>, i32) -> (tensor<f32>, i32) {
    %2 = tensor.extract %v[] : tensor<f32>
    %3 = arith.cmpf olt, %2, %limit : f32
    scf.condition(%3) %v, %n : tensor<f32>, i32
  } do {
  ^bb0(%v: tensor<f32>, %n: i32):
    %4 = arith.addf %v, %v : tensor<f32>
    %5 = arith.addi %n, %one : i32
    scf.yield %4, %5 : tensor<f32>, i32
  }
  %6 = arith.cmpi sgt, %0#1, %one : i32
  // expected-error @below {{may take another way on other devices along {"x"}}}
  %7 = scf.if %6 -> tensor<f32> {
    // expected-note @below {{spmd.all_reduce is here}}
    %8 = spmd.all_reduce sum @mesh {"x"} %a : tensor<f32>
    scf.yield %8 : tensor<f32>
  } else {
    scf.yield %a : tensor<f32>
  }
  return %7 : tensor<f32>
}

// -----

// The same coordinates are another device's on a mesh of another order. Axes are
// those of the collective's mesh.
shoal.mesh @mesh = <["x" = 2, "y" = 2]>
shoal.mesh @other = <["x" = 2, "y" = 2], device_ids = [0, 2, 1, 3]>

func.func @other_device_order(%a: tensor<2xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>}) -> tensor<2xf32> attributes {shoal.spmd} {
  // expected-note @below {{it differs because of this spmd.axis_index}}
  %0 = spmd.axis_index @mesh {"x"} : tensor<i32>
  %1 = tensor.extract %0[] : tensor<i32>
  %2 = arith.trunci %1 : i32 to i1
  // expected-error @below {{may take another way on other devices along {"y"}}}
  %3 = scf.if %2 -> tensor<2xf32> {
    // expected-note @below {{spmd.all_reduce is here}}
    %4 = spmd.all_reduce sum @other {"y"} %a : tensor<2xf32>
    scf.yield %4 : tensor<2xf32>
  } else {
    scf.yield %a : tensor<2xf32>
  }
  return %3 : tensor<2xf32>
}
