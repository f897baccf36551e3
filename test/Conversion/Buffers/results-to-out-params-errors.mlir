// RUN: shoal-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(func.func(shoal-results-to-out-params))'

func.func @a_tensor(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'func.return' op expected buffers but got 'tensor<4xf32>'}}
  return %x : tensor<4xf32>
}

// -----

func.func @a_scalar_beside_a_buffer(%x: memref<4xf32>, %n: i32) -> (memref<4xf32>, i32) {
  // expected-error @below {{'func.return' op expected buffers but got 'i32'}}
  return %x, %n : memref<4xf32>, i32
}
