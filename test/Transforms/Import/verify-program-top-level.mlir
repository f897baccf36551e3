// RUN: shoal-opt %s --shoal-verify-program --split-input-file --verify-diagnostics

func.func @beside(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
// A module's body has no order.
// expected-error@+1 {{'shoal.stop_gradient' op is outside of all functions: a program is one module of functions and meshes}}
%itself = shoal.stop_gradient %itself : tensor<8xf32>

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
// expected-error@+1 {{'builtin.module' op is outside of all functions}}
module {
  func.func @inner(%x: tensor<8xf32>) -> tensor<8xf32> {
    return %x : tensor<8xf32>
  }
}
