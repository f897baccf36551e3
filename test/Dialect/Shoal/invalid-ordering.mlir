// RUN: shoal-opt %s -split-input-file -verify-diagnostics

// The laws of sort, argmax, argmin, reduce_region, clamp and bitcast_convert.

// sort (C1)
func.func @sort_nothing() {
  // expected-error@+1 {{expected at least one operand}}
  "shoal.sort"() {dim = 0 : i64} : () -> ()
  return
}

// -----

// sort (C1)
func.func @sort_shapes(%x: tensor<8x4xf32>, %y: tensor<8x5xf32>) {
  // expected-error@+1 {{operand 1 dim 1: expected size 4 but got 5}}
  %0:2 = shoal.sort %x, %y dim = 0 : (tensor<8x4xf32>, tensor<8x5xf32>) -> (tensor<8x4xf32>, tensor<8x5xf32>)
  return
}

// -----

// sort (C2)
func.func @sort_dim(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{dim: 2 is not a dimension of a tensor of rank 2}}
  %0 = shoal.sort %x dim = 2 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

// sort (C2)
func.func @sort_scalar(%x: tensor<f32>) {
  // expected-error@+1 {{dim: 0 is not a dimension of a tensor of rank 0}}
  %0 = shoal.sort %x dim = 0 : (tensor<f32>) -> tensor<f32>
  return
}

// -----

// sort (C3)
func.func @sort_keys(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{num_keys: expected 1 to 1, the number of operands, but got 2}}
  %0 = shoal.sort %x dim = 0 {num_keys = 2} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

// sort (C4)
func.func @sort_results(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{expected 1 results, one for each operand, but got 2}}
  %0:2 = shoal.sort %x dim = 0 : (tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
  return
}

// -----

// sort (C4)
func.func @sort_result_type(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{result 0: expected elements of type 'f32' but got 'i32'}}
  %0 = shoal.sort %x dim = 0 : (tensor<8x4xf32>) -> tensor<8x4xi32>
  return
}

// -----

// argmax (C1)
func.func @argmax_dim(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{dim: -1 is not a dimension of a tensor of rank 2}}
  %0 = shoal.argmax %x dim = -1 : tensor<8x4xf32> -> tensor<8xi32>
  return
}

// -----

// argmax (C2)
func.func @argmax_type(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{result 0: expected elements of type i32 or i64 but got 'i16'}}
  %0 = shoal.argmax %x dim = 1 : tensor<8x4xf32> -> tensor<8xi16>
  return
}

// -----

// argmin (C2)
func.func @argmin_shape(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{result 0 dim 0: expected size 8 but got 4}}
  %0 = shoal.argmin %x dim = 1 : tensor<8x4xf32> -> tensor<4xi32>
  return
}

// -----

// argmin (C3)
func.func @argmin_of_none(%x: tensor<8x0xf32>) {
  // expected-error@+1 {{operand 0 dim 1: expected at least one element}}
  %0 = shoal.argmin %x dim = 1 : tensor<8x0xf32> -> tensor<8xi32>
  return
}

// -----

// argmax (C3)
func.func @argmax_of_many(%x: tensor<3000000000xi8>) {
  // expected-error@+1 {{operand 0 dim 0: size 3000000000 is too large for places of type i32}}
  %0 = shoal.argmax %x dim = 0 : tensor<3000000000xi8> -> tensor<i32>
  return
}

// -----

// reduce_region (C1)
func.func @reduce_nothing() {
  // expected-error@+1 {{expected at least one operand}}
  "shoal.reduce_region"() <{dims = array<i64>}> ({ shoal.yield }) : () -> ()
  return
}

// -----

// reduce_region (C1)
func.func @reduce_shapes(%x: tensor<8x4xi32>, %y: tensor<8x5xi32>, %z: tensor<i32>) {
  // expected-error@+1 {{operand 1 dim 1: expected size 4 but got 5}}
  %0:2 = shoal.reduce_region(%x, %y) inits(%z, %z) dims = [1] {
  ^combine(%a: i32, %b: i32, %c: i32, %d: i32):
    shoal.yield %a, %b : i32, i32
  } : (tensor<8x4xi32>, tensor<8x5xi32>, tensor<i32>, tensor<i32>) -> (tensor<8xi32>, tensor<8xi32>)
  return
}

// -----

// reduce_region (C2)
func.func @reduce_dims(%x: tensor<8x4xi32>, %z: tensor<i32>) {
  // expected-error@+1 {{dims: expected ascending order but got [1, 0]}}
  %0 = shoal.reduce_region(%x) inits(%z) dims = [1, 0] {
  ^combine(%a: i32, %b: i32):
    shoal.yield %a : i32
  } : (tensor<8x4xi32>, tensor<i32>) -> tensor<i32>
  return
}

// -----

// reduce_region (C3)
func.func @reduce_init_type(%x: tensor<8x4xi32>, %z: tensor<f32>) {
  // expected-error@+1 {{init 0: expected elements of type 'i32' but got 'f32'}}
  %0 = shoal.reduce_region(%x) inits(%z) dims = [1] {
  ^combine(%a: i32, %b: i32):
    shoal.yield %a : i32
  } : (tensor<8x4xi32>, tensor<f32>) -> tensor<8xi32>
  return
}

// -----

// reduce_region (C3)
func.func @reduce_init_shape(%x: tensor<8x4xi32>, %z: tensor<1xi32>) {
  // expected-error@+1 {{init 0: expected rank 0 but got 1}}
  %0 = shoal.reduce_region(%x) inits(%z) dims = [1] {
  ^combine(%a: i32, %b: i32):
    shoal.yield %a : i32
  } : (tensor<8x4xi32>, tensor<1xi32>) -> tensor<8xi32>
  return
}

// -----

// reduce_region (C4)
func.func @reduce_result(%x: tensor<8x4xi32>, %z: tensor<i32>) {
  // expected-error@+1 {{result 0 dim 0: expected size 8 but got 4}}
  %0 = shoal.reduce_region(%x) inits(%z) dims = [1] {
  ^combine(%a: i32, %b: i32):
    shoal.yield %a : i32
  } : (tensor<8x4xi32>, tensor<i32>) -> tensor<4xi32>
  return
}

// -----

// reduce_region (C4)
func.func @reduce_result_count(%x: tensor<8x4xi32>, %z: tensor<i32>) {
  // expected-error@+1 {{expected 1 results, one for each operand, but got 2}}
  %0:2 = shoal.reduce_region(%x) inits(%z) dims = [1] {
  ^combine(%a: i32, %b: i32):
    shoal.yield %a : i32
  } : (tensor<8x4xi32>, tensor<i32>) -> (tensor<8xi32>, tensor<8xi32>)
  return
}

// -----

// reduce_region (C5)
func.func @reduce_argument_count(%x: tensor<8x4xi32>, %z: tensor<i32>) {
  // expected-error@+1 {{expected a combiner of 2 arguments for 1 operands but got 1}}
  %0 = shoal.reduce_region(%x) inits(%z) dims = [1] {
  ^combine(%a: i32):
    shoal.yield %a : i32
  } : (tensor<8x4xi32>, tensor<i32>) -> tensor<8xi32>
  return
}

// -----

// reduce_region (C5)
func.func @reduce_yield(%x: tensor<8x4xi32>, %z: tensor<i32>) {
  // expected-error@+1 {{combiner result 0: expected 'i32', as operand 0 has, but got 'i1'}}
  %0 = shoal.reduce_region(%x) inits(%z) dims = [1] {
  ^combine(%a: i32, %b: i32):
    %c = arith.cmpi slt, %a, %b : i32
    shoal.yield %c : i1
  } : (tensor<8x4xi32>, tensor<i32>) -> tensor<8xi32>
  return
}

// -----

// reduce_region (C5)
func.func @reduce_terminator(%x: tensor<8x4xi32>, %z: tensor<i32>) {
  %0 = "shoal.reduce_region"(%x, %z) <{dims = array<i64: 1>}> ({
  ^combine(%a: i32, %b: i32):
    // expected-error@+1 {{block with no terminator}}
    %c = arith.addi %a, %b : i32
  }) : (tensor<8x4xi32>, tensor<i32>) -> tensor<8xi32>
  return
}

// -----

// reduce_region (C6)
func.func @reduce_body(%x: tensor<8x4xi32>, %z: tensor<i32>) {
  // expected-error@+1 {{expected a combiner of constants and elementwise ops on scalars}}
  %0 = shoal.reduce_region(%x) inits(%z) dims = [1] {
  ^combine(%a: i32, %b: i32):
    // expected-note@+1 {{'tensor.from_elements' is none}}
    %t = tensor.from_elements %a : tensor<1xi32>
    shoal.yield %b : i32
  } : (tensor<8x4xi32>, tensor<i32>) -> tensor<8xi32>
  return
}

// -----

// clamp (C1)
func.func @clamp_bound(%x: tensor<8x4xf32>, %low: tensor<4xf32>) {
  // expected-error@+1 {{operand 0: expected rank 2 but got 1}}
  %0 = shoal.clamp %low, %x, %x : tensor<4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
  return
}

// -----

// clamp (C2)
func.func @clamp_type(%x: tensor<8x4xf32>, %high: tensor<i32>) {
  // expected-error@+1 {{operand 2: expected elements of type 'f32' but got 'i32'}}
  %0 = shoal.clamp %x, %x, %high : tensor<8x4xf32>, tensor<8x4xf32>, tensor<i32>
  return
}

// -----

// clamp (C3)
func.func @clamp_result(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{failed to verify that all of {input, result} have same type}}
  %0 = "shoal.clamp"(%x, %x, %x) : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x5xf32>
  return
}

// -----

// bitcast_convert (C1)
func.func @bits_of_booleans(%x: tensor<8xi1>) {
  // expected-error@+1 {{operand 0: expected numbers but got i1}}
  %0 = shoal.bitcast_convert %x : tensor<8xi1> -> tensor<i8>
  return
}

// -----

// bitcast_convert (C1)
func.func @bits_as_booleans(%x: tensor<8xi8>) {
  // expected-error@+1 {{result 0: expected numbers but got i1}}
  %0 = shoal.bitcast_convert %x : tensor<8xi8> -> tensor<8x8xi1>
  return
}

// -----

// bitcast_convert (C2)
func.func @bits_to_narrower(%x: tensor<8xf32>) {
  // expected-error@+1 {{result 0 dim 1: expected size 4 but got 2}}
  %0 = shoal.bitcast_convert %x : tensor<8xf32> -> tensor<8x2xi8>
  return
}

// -----

// bitcast_convert (C2)
func.func @bits_to_wider(%x: tensor<8x3xbf16>) {
  // expected-error@+1 {{operand 0: expected a last dimension of size 2, as many 'bf16' as make one 'f32'}}
  %0 = shoal.bitcast_convert %x : tensor<8x3xbf16> -> tensor<8xf32>
  return
}
