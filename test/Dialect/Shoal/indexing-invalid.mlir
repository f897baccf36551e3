// RUN: shoal-opt %s -split-input-file -verify-diagnostics

// dynamic_slice (C1)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<i32>) {
  // expected-error @below {{starts: expected an entry for each of 2 dimensions but got 1}}
  %0 = shoal.dynamic_slice %x [%i] sizes = [2, 6] : (tensor<5x6xf32>, tensor<i32>) -> tensor<2x6xf32>
  return
}

// -----

// dynamic_slice (C1)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<i32>, %j: tensor<1xi32>) {
  // expected-error @below {{operand 2: expected rank 0 but got 1}}
  %0 = shoal.dynamic_slice %x [%i, %j] sizes = [2, 6] : (tensor<5x6xf32>, tensor<i32>, tensor<1xi32>) -> tensor<2x6xf32>
  return
}

// -----

// dynamic_slice (C1)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<i32>, %j: tensor<i64>) {
  // expected-error @below {{operand 2: expected elements of type 'i32' but got 'i64'}}
  %0 = shoal.dynamic_slice %x [%i, %j] sizes = [2, 6] : (tensor<5x6xf32>, tensor<i32>, tensor<i64>) -> tensor<2x6xf32>
  return
}

// -----

// dynamic_slice (C2)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<i32>) {
  // expected-error @below {{sizes: expected an entry for each of 2 dimensions but got 1}}
  %0 = shoal.dynamic_slice %x [%i, %i] sizes = [2] : (tensor<5x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x6xf32>
  return
}

// -----

// dynamic_slice (C2)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<i32>) {
  // expected-error @below {{sizes[0]: expected 0 to 5, the operand's size, but got 7}}
  %0 = shoal.dynamic_slice %x [%i, %i] sizes = [7, 6] : (tensor<5x6xf32>, tensor<i32>, tensor<i32>) -> tensor<7x6xf32>
  return
}

// -----

// dynamic_slice (C3)
func.func @f(%x: tensor<5x6xf32>, %i: tensor<i32>) {
  // expected-error @below {{result 0 dim 0: expected size 2 but got 3}}
  %0 = shoal.dynamic_slice %x [%i, %i] sizes = [2, 6] : (tensor<5x6xf32>, tensor<i32>, tensor<i32>) -> tensor<3x6xf32>
  return
}

// -----

// dynamic_slice: starts are integers
func.func @f(%x: tensor<5xf32>, %i: tensor<i1>) {
  // expected-error @below {{operand #1 must be variadic of statically shaped tensor}}
  %0 = shoal.dynamic_slice %x [%i] sizes = [2] : (tensor<5xf32>, tensor<i1>) -> tensor<2xf32>
  return
}

// -----

// dynamic_update_slice (C1)
func.func @f(%x: tensor<5x6xf32>, %u: tensor<2x6xf32>, %i: tensor<i32>) {
  // expected-error @below {{starts: expected an entry for each of 2 dimensions but got 1}}
  %0 = shoal.dynamic_update_slice %x, %u [%i] : (tensor<5x6xf32>, tensor<2x6xf32>, tensor<i32>) -> tensor<5x6xf32>
  return
}

// -----

// dynamic_update_slice (C2)
func.func @f(%x: tensor<5x6xf32>, %u: tensor<2xf32>, %i: tensor<i32>) {
  // expected-error @below {{operand 1: expected rank 2 but got 1}}
  %0 = shoal.dynamic_update_slice %x, %u [%i, %i] : (tensor<5x6xf32>, tensor<2xf32>, tensor<i32>, tensor<i32>) -> tensor<5x6xf32>
  return
}

// -----

// dynamic_update_slice (C2)
func.func @f(%x: tensor<5x6xf32>, %u: tensor<2x7xf32>, %i: tensor<i32>) {
  // expected-error @below {{operand 1 dim 1: expected a size of at most 6, that of operand 0, but got 7}}
  %0 = shoal.dynamic_update_slice %x, %u [%i, %i] : (tensor<5x6xf32>, tensor<2x7xf32>, tensor<i32>, tensor<i32>) -> tensor<5x6xf32>
  return
}

// -----

// dynamic_update_slice (C2)
func.func @f(%x: tensor<5xf32>, %u: tensor<2xf64>, %i: tensor<i32>) {
  // expected-error @below {{operand 1: expected elements of type 'f32' but got 'f64'}}
  %0 = shoal.dynamic_update_slice %x, %u [%i] : (tensor<5xf32>, tensor<2xf64>, tensor<i32>) -> tensor<5xf32>
  return
}

// -----

// dynamic_update_slice (C3)
func.func @f(%x: tensor<5xf32>, %u: tensor<2xf32>, %i: tensor<i32>) {
  // expected-error @below {{result 0 dim 0: expected size 5 but got 2}}
  %0 = shoal.dynamic_update_slice %x, %u [%i] : (tensor<5xf32>, tensor<2xf32>, tensor<i32>) -> tensor<2xf32>
  return
}
