// RUN: not shoal-opt %s --shoal-differentiate --split-input-file 2>&1 | FileCheck %s

// CHECK: error: @f_grad is a derivative of a function that calls it
func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  %y = call @f_grad(%x) : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}
func.func private @f_grad(tensor<f32>) -> tensor<f32>
  attributes {shoal.derivative = {of = @f, wrt = array<i64: 0>, outputs = array<i64: 0>, mode = "grad"}}

// -----

// CHECK: error: outputs: result 0 of @f is 'tensor<4xf32>': a gradient is that of a scalar, and mode vjp takes a cotangent
// CHECK: note: the function is here
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @f_grad(tensor<4xf32>) -> tensor<4xf32>
  attributes {shoal.derivative = {of = @f, wrt = array<i64: 0>, outputs = array<i64: 0>, mode = "grad"}}

// -----

// CHECK: error: wrt: argument 0 of @f is 'tensor<i32>': expected floats
func.func private @f(%x: tensor<i32>) -> tensor<f32> {
  %y = arith.sitofp %x : tensor<i32> to tensor<f32>
  return %y : tensor<f32>
}
func.func private @f_grad(tensor<i32>) -> tensor<i32>
  attributes {shoal.derivative = {of = @f, wrt = array<i64: 0>, outputs = array<i64: 0>, mode = "grad"}}

// -----

// CHECK: error: wrt: names argument 0 twice
func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
func.func private @f_grad(tensor<f32>) -> (tensor<f32>, tensor<f32>)
  attributes {shoal.derivative = {of = @f, wrt = array<i64: 0, 0>, outputs = array<i64: 0>, mode = "grad"}}

// -----

// CHECK: error: shoal.derivative: expected the type '(tensor<f32>) -> tensor<f32>' but got '(tensor<f32>) -> tensor<4xf32>'
func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
func.func private @f_grad(tensor<f32>) -> tensor<4xf32>
  attributes {shoal.derivative = {of = @f, wrt = array<i64: 0>, outputs = array<i64: 0>, mode = "grad"}}

// -----

// CHECK: error: shoal.derivative: expected {of = @function
func.func private @f_grad(tensor<f32>) -> tensor<4xf32> attributes {shoal.derivative = "f"}

// -----

// CHECK: error: shoal.derivative: there is no function @g
func.func private @f_grad(tensor<f32>) -> tensor<f32>
  attributes {shoal.derivative = {of = @g, wrt = array<i64: 0>, outputs = array<i64: 0>, mode = "grad"}}

// -----

// CHECK: error: 'shoal.while' op runs as often as its values say
// CHECK: note: the gradient is taken with respect to argument 0
// CHECK: note: of an output that depends on it
func.func private @f(%x: tensor<f32>, %n: tensor<i32>) -> tensor<f32> {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %r:2 = shoal.while (%i = %zero, %a = %x) : tensor<i32>, tensor<f32> cond {
    %more = arith.cmpi slt, %i, %n : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %next = arith.addi %i, %one : tensor<i32>
    %b = math.sin %a : tensor<f32>
    shoal.yield %next, %b : tensor<i32>, tensor<f32>
  }
  return %r#1 : tensor<f32>
}
func.func private @f_grad(tensor<f32>, tensor<i32>) -> tensor<f32>
  attributes {shoal.derivative = {of = @f, wrt = array<i64: 0>, outputs = array<i64: 0>, mode = "grad"}}

// -----

// CHECK: error: 'shoal.custom_call' op calls a function of which no derivative is known
func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  %y = shoal.custom_call "kernel"(%x) : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}
func.func private @f_grad(tensor<f32>) -> tensor<f32>
  attributes {shoal.derivative = {of = @f, wrt = array<i64: 0>, outputs = array<i64: 0>, mode = "grad"}}

// -----

// CHECK: error: 'func.func' op is a derivative of @f, which has no body of one block
func.func private @f(tensor<f32>) -> tensor<f32>
func.func private @f_grad(tensor<f32>) -> tensor<f32>
  attributes {shoal.derivative = {of = @f, wrt = array<i64: 0>, outputs = array<i64: 0>, mode = "grad"}}

// -----

// CHECK: error: expected the arguments and results of @g, then residuals, but got '(tensor<f32>) -> tensor<4xf32>'
func.func private @g(tensor<f32>) -> tensor<f32> attributes {shoal.vjp_forward = @g_forward, shoal.vjp_backward = @g_backward}
func.func private @g_forward(%x: tensor<f32>) -> tensor<4xf32> {
  %y = arith.constant dense<0.0> : tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func private @g_backward(%dy: tensor<f32>) -> tensor<f32> {
  return %dy : tensor<f32>
}
func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  %y = call @g(%x) : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}
func.func private @f_grad(tensor<f32>) -> tensor<f32>
  attributes {shoal.derivative = {of = @f, wrt = array<i64: 0>, outputs = array<i64: 0>, mode = "grad"}}

// -----

// CHECK: error: expected the type '(tensor<f32>) -> tensor<f32>', from residuals and cotangents of results to cotangents of arguments, but got '(tensor<f32>, tensor<f32>) -> tensor<f32>'
func.func private @g(tensor<f32>) -> tensor<f32> attributes {shoal.vjp_forward = @g_forward, shoal.vjp_backward = @g_backward}
func.func private @g_forward(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
func.func private @g_backward(%x: tensor<f32>, %dy: tensor<f32>) -> tensor<f32> {
  return %dy : tensor<f32>
}
func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  %y = call @g(%x) : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}
func.func private @f_grad(tensor<f32>) -> tensor<f32>
  attributes {shoal.derivative = {of = @f, wrt = array<i64: 0>, outputs = array<i64: 0>, mode = "grad"}}
