// RUN: shoal-opt %s --shoal-assign --split-input-file --verify-diagnostics

shoal.mesh @mesh = <["x" = 2]>

func.func @op_without_rule(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'tensor.cast' op cannot be partitioned: it has no factor rule}}
  %y = tensor.cast %x : tensor<8xf32> to tensor<?xf32>
  %z = tensor.cast %y : tensor<?xf32> to tensor<8xf32>
  return %z : tensor<8xf32>
}

// -----

shoal.mesh @mesh = <["x" = 2]>

func.func private @callee(tensor<8xf32>) -> tensor<8xf32>

func.func @call(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'func.call' op cannot be partitioned: it has no factor rule}}
  // expected-note @below {{calls are to be inlined first, by --inline}}
  %y = func.call @callee(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

shoal.mesh @mesh = <["x" = 2]>

func.func @assigned_before(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'shoal.reshard' op cannot be partitioned: it has no factor rule}}
  // expected-note @below {{shardings of this program were already assigned}}
  %y = shoal.reshard %x <@mesh, [{"x"}]> -> <@mesh, [{}]> : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

shoal.mesh @mesh = <["x" = 2]>

func.func @region_reads_addends_of_a_product(%x: tensor<8x4xf32>) -> tensor<8xf32> {
  // expected-note @below {{it is reduced here}}
  %m = shoal.reduce prod %x dims = [1] : tensor<8x4xf32> -> tensor<8xf32>
  // expected-error @below {{asks for addends over axis "x" of what is no sum but a prod}}
  %p = shoal.manual_computation @mesh {"x"} (%m) in [#shoal.sharding<@mesh, [{}], partial = {"x"}>]
      out [#shoal.sharding<@mesh, [{}], partial = {"x"}>] {
  ^bb0(%l: tensor<8xf32>):
    shoal.yield %l : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %p : tensor<8xf32>
}

// -----

shoal.mesh @mesh = <["x" = 2]>

// expected-error @below {{argument 0: expected a ranked tensor of static shape, of integers or floats, but got 'tensor<?xf32>'}}
func.func @dynamic_shape(%x: tensor<?xf32>) {
  return
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

// Nothing reads it: there is nothing to copy it for.
shoal.mesh @mesh = <["x" = 2, "y" = 4]>

func.func @unread(%x: tensor<4x6xf32>) {
  %unread = arith.constant dense<1.0> : tensor<4xf32>
  // expected-error @below {{is written for one device: expected it in a region for one device}}
  %0 = spmd.axis_index @mesh {"x", "y"} : tensor<i32>
  return
}
