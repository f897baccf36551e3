// RUN: shoal-opt %s --split-input-file --verify-diagnostics --shoal-propagate

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

// expected-error @below {{argument 0: expected a ranked tensor of static shape, of integers or floats, but got 'index'}}
func.func @argument_that_is_no_tensor(%i: index) {
  return
}

// -----

shoal.mesh @mesh = <["x" = 2]>

// expected-error @below {{argument 0: expected a tensor of less than 2^56 elements, but got 'tensor<268435456x268435456xf32>'}}
func.func @too_many_elements(%x: tensor<268435456x268435456xf32>) {
  return
}

// -----

shoal.mesh @mesh = <["x" = 2]>

func.func @op_without_rule(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'tensor.cast' op cannot be partitioned: it has no factor rule}}
  %y = tensor.cast %x : tensor<8xf32> to tensor<?xf32>
  %z = tensor.cast %y : tensor<?xf32> to tensor<8xf32>
  return %z : tensor<8xf32>
}

// -----

shoal.mesh @mesh = <["x" = 2]>

func.func @addends_of_a_maximum(%x: tensor<8x4xf32>) -> tensor<8xf32> {
  // expected-note @below {{it is reduced here}}
  %m = shoal.reduce max %x dims = [1] : tensor<8x4xf32> -> tensor<8xf32>
  // expected-error @below {{asks for addends over axis "x" of what is no sum but a max}}
  %p = shoal.sharding_constraint %m <@mesh, [{}], partial = {"x"}> : tensor<8xf32>
  return %p : tensor<8xf32>
}
