// RUN: shoal-opt %s --shoal-verify-assignment --split-input-file --verify-diagnostics

shoal.mesh @mesh = <["x" = 2]>

// expected-error @below {{argument 0: expected a sharding; --shoal-assign chooses it}}
func.func @argument_without_sharding(%x: tensor<8xf32>) {
  return
}

// -----

shoal.mesh @mesh = <["x" = 2]>

// expected-error @below {{has open dimensions}}
func.func @open_argument(%x: tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{?}]>}) {
  return
}

// -----

shoal.mesh @mesh = <["x" = 2]>

// expected-error @below {{argument 0: sharding #shoal.sharding<@mesh, [{}], partial = {"x"}> is partial; callers cannot reduce it}}
func.func @partial_argument(%x: tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}], partial = {"x"}>}) {
  return
}

// -----

shoal.mesh @mesh = <["x" = 2]>

func.func @op_without_sharding(%x: tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}) {
  // expected-error @below {{'math.exp' op result 0: expected a sharding; --shoal-assign chooses it}}
  %y = math.exp %x : tensor<8xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2]>

func.func @no_split_fits(%x: tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}) {
  // expected-error @below {{'math.exp' op operands and results fit no split of the op: #shoal.sharding<@mesh, [{"x"}]> -> #shoal.sharding<@mesh, [{}]>}}
  %y = math.exp %x {shoal.shardings = [#shoal.sharding<@mesh, [{}]>]} : tensor<8xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2]>

func.func @nonlinear_op_of_partial_sums(%x: tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>}) {
  %p = shoal.reshard %x <@mesh, [{}]> -> <@mesh, [{}], partial = {"x"}> {shoal.shardings = [#shoal.sharding<@mesh, [{}], partial = {"x"}>]} : tensor<8xf32>
  // expected-error @below {{'math.exp' op operands and results fit no split of the op}}
  %y = math.exp %p {shoal.shardings = [#shoal.sharding<@mesh, [{}], partial = {"x"}>]} : tensor<8xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2]>

func.func @reshard_from_elsewhere(%x: tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>}) {
  // expected-error @below {{'shoal.reshard' op starts from #shoal.sharding<@mesh, [{"x"}]> but its operand is #shoal.sharding<@mesh, [{}]>}}
  %y = shoal.reshard %x <@mesh, [{"x"}]> -> <@mesh, [{}]> {shoal.shardings = [#shoal.sharding<@mesh, [{}]>]} : tensor<8xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2]>

func.func @annotation_broken(%x: tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>}) {
  // expected-error @below {{'shoal.sharding_constraint' op dim 0: sharding #shoal.sharding<@mesh, [{}]> is not what the annotation asks for}}
  %y = shoal.sharding_constraint %x <@mesh, [{"x"}]> {shoal.shardings = [#shoal.sharding<@mesh, [{}]>]} : tensor<8xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2]>

// expected-error @below {{result 0: sharding is #shoal.sharding<@mesh, [{}]> but #shoal.sharding<@mesh, [{"x"}]> is returned}}
func.func @result_in_another_sharding(%x: tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>})
    -> (tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>}) {
  return %x : tensor<8xf32>
}

// -----

shoal.mesh @mesh = <["x" = 2]>
shoal.mesh @swapped = <["x" = 2], device_ids = [1, 0]>

func.func @two_device_orders(%x: tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}) {
  // expected-error @below {{'math.exp' op mixes meshes @mesh and @swapped}}
  %y = math.exp %x {shoal.shardings = [#shoal.sharding<@swapped, [{"x"}]>]} : tensor<8xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 4]>
func.func @loop_disagrees(%x: tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}, %p: tensor<i1> {shoal.sharding = #shoal.sharding<@mesh, []>})
    -> (tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>}) {
  // expected-error@+2 {{operand 0 of shoal.while: sharding is #shoal.sharding<@mesh, [{"x"}]> but the values that it becomes have #shoal.sharding<@mesh, [{}]>}}
  // expected-note@+1 {{the operand is here}}
  %r = shoal.while (%a = %x) : tensor<8xf32> attributes {shoal.shardings = [#shoal.sharding<@mesh, [{}]>]} cond {
    shoal.yield %p : tensor<i1>
  } do {
    shoal.yield %a : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

// -----

shoal.mesh @mesh = <["x" = 4]>
func.func @branch_is_partial(%x: tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>}, %p: tensor<i32> {shoal.sharding = #shoal.sharding<@mesh, []>})
    -> (tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>}) {
  %q = shoal.reshard %p <@mesh, []> -> <@mesh, [], partial = {"x"}> {shoal.shardings = [#shoal.sharding<@mesh, [], partial = {"x"}>]} : tensor<i32>
  // expected-error@+2 {{operand 0 of shoal.case: expected to be whole on every device but got #shoal.sharding<@mesh, [], partial = {"x"}>}}
  // expected-note@+1 {{the operand is here}}
  %r = shoal.case %q {shoal.shardings = [#shoal.sharding<@mesh, [{}]>]} : (tensor<i32>) -> tensor<8xf32> {
    shoal.yield %x : tensor<8xf32>
  }, {
    shoal.yield %x : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

// -----

shoal.mesh @mesh = <["x" = 2]>

func.func @barrier_moves(%x: tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}, %y: tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}) {
  // expected-error @below {{'shoal.optimization_barrier' op result 1: sharding #shoal.sharding<@mesh, [{}]> is not that of its operand, #shoal.sharding<@mesh, [{"x"}]>}}
  %r:2 = shoal.optimization_barrier %x, %y {shoal.shardings = [#shoal.sharding<@mesh, [{"x"}]>, #shoal.sharding<@mesh, [{}]>]} : tensor<8xf32>, tensor<8xf32>
  return
}
