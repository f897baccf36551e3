// RUN: shoal-opt %s --split-input-file --verify-diagnostics --shoal-verify-linalg

func.func @c1_an_op_of_shoal_is_left(%x: tensor<4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{'shoal.broadcast_in_dim' op is left behind by the lowering to linalg}}
  %0 = shoal.broadcast_in_dim %x dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

func.func @c2_tensors_are_added(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'arith.addf' op works on tensors: expected a linalg op}}
  %0 = arith.addf %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A condition that is one for all elements chooses a tensor as a whole.
func.func @tensors_are_selected(%c: i1, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.select %c, %x, %y : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @below {{the runtime has no elements of 'index'}}
func.func @c3_buffers_of_indices(%x: memref<4xindex>) {
  return
}

// -----

func.func @c3_complex_tensors(%x: tensor<4xf32>) {
  // expected-error @below {{the runtime has no elements of 'complex<f32>'}}
  %0 = tensor.empty() : tensor<4xcomplex<f32>>
  return
}
