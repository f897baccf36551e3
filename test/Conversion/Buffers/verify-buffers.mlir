// RUN: shoal-opt %s --split-input-file --verify-diagnostics --shoal-verify-buffers

// expected-error @below {{'func.func' op has an argument of 'tensor<4xf32>': expected a buffer}}
func.func @c1_a_tensor_is_an_argument(%x: tensor<4xf32>) {
  return
}

// -----

func.func @c1_a_tensor_is_made(%x: memref<4xf32>) {
  // expected-error @below {{'bufferization.to_tensor' op has a result of 'tensor<4xf32>': expected a buffer}}
  %0 = bufferization.to_tensor %x : memref<4xf32> to tensor<4xf32>
  return
}

// -----

// expected-error @below {{'func.func' op returns 1 values: expected its results in buffers}}
func.func @c2_a_buffer_is_returned(%x: memref<4xf32>) -> memref<4xf32> {
  return %x : memref<4xf32>
}

// -----

memref.global "private" constant @numbers : memref<4xf32> = dense<1.0>

func.func @c3_a_view_of_a_constant_is_written(%x: memref<2xf32>) {
  // expected-note @below {{which is this}}
  %0 = memref.get_global @numbers : memref<4xf32>
  %1 = memref.subview %0[0] [2] [1] : memref<4xf32> to memref<2xf32>
  // expected-error @below {{'memref.copy' op writes to a constant}}
  memref.copy %x, %1 : memref<2xf32> to memref<2xf32>
  return
}
