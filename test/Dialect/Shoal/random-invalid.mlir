// RUN: shoal-opt %s -split-input-file -verify-diagnostics

// The laws of random.

// (C1)
func.func @random_key(%key: tensor<3xi32>) {
  // expected-error@+1 {{operand 0 dim 0: expected size 2 but got 3}}
  %0 = shoal.random uniform %key : tensor<3xi32> -> tensor<8xf32>
  return
}

// -----

// (C1)
func.func @random_key_of_unknown_size(%key: tensor<?xi32>) {
  // expected-error@+1 {{operand 0 dim 0: expected size 2 but got ?}}
  %0 = shoal.random uniform %key : tensor<?xi32> -> tensor<8xf32>
  return
}
