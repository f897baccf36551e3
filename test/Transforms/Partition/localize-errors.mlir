// RUN: shoal-opt %s --split-input-file --verify-diagnostics --shoal-localize

// expected-error @below {{the program has no shoal.mesh}}
module {
  func.func @no_mesh(%x: tensor<8xf32>) -> tensor<8xf32> {
    return %x : tensor<8xf32>
  }
}

// -----

shoal.mesh @mesh = <["x" = 2]>

// expected-error @below {{expected a function of one block}}
func.func @several_blocks(%x: tensor<8xf32>) -> tensor<8xf32> {
  cf.br ^next
^next:
  return %x : tensor<8xf32>
}

// -----

shoal.mesh @mesh = <["x" = 2]>

// expected-error @below {{argument 0: expected a tensor but got 'index'}}
func.func @argument_that_is_no_tensor(%i: index) {
  return
}

// -----

shoal.mesh @mesh = <["x" = 2]>

// expected-error @below {{expected every value to have a sharding; --shoal-assign chooses them}}
func.func @argument_without_sharding(%x: tensor<8xf32>) {
  return
}

// -----

shoal.mesh @mesh = <["x" = 2]>

func.func @op_without_sharding(%x: tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}) {
  // expected-error @below {{expected every value to have a sharding; --shoal-assign chooses them}}
  %y = math.exp %x : tensor<8xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2]>

func.func @op_without_rule(%x: tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}) {
  // expected-error @below {{'tensor.cast' op cannot be partitioned: it has no factor rule}}
  %y = tensor.cast %x : tensor<8xf32> to tensor<?xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2]>

func.func @reshard_without_step(%x: tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}) {
  // expected-error @below {{'shoal.reshard' op expected a step; --shoal-plan-reshards adds it}}
  %y = shoal.reshard %x <@mesh, [{"x"}]> -> <@mesh, [{}]> {shoal.shardings = [#shoal.sharding<@mesh, [{}]>]} : tensor<8xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2]>

func.func @result_without_sharding(%x: tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  // expected-error @below {{result 0: expected a tensor with a sharding}}
  return %x : tensor<8xf32>
}

// -----

// The reshard between operand and result is missing.
shoal.mesh @mesh = <["x" = 2]>

func.func @no_split_fits(%x: tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}) {
  // expected-error @below {{'math.exp' op cannot be partitioned: its factor rule does not allow the shardings of its operands and results}}
  %y = math.exp %x {shoal.shardings = [#shoal.sharding<@mesh, [{}]>]} : tensor<8xf32>
  return
}
