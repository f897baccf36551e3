// RUN: shoal-opt %s -split-input-file -verify-diagnostics

// The laws of reduce, reduce_region and cumulative.

// (C1)
func.func @cumulative_dim(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{dim: 2 is not a dimension of a tensor of rank 2}}
  %0 = shoal.cumulative sum %x dim = 2 : tensor<8x4xf32>
  return
}

// -----

// (C2)
func.func @cumulative_and_of_floats(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{and: expected integers but got 'f32'}}
  %0 = shoal.cumulative and %x dim = 1 : tensor<8x4xf32>
  return
}

// -----

// (C2)
func.func @cumulative_sum_of_f8(%x: tensor<8x4xf8E4M3FN>) {
  // expected-error@+1 {{sum: expected a wider type than 'f8E4M3FN', which would round every partial result to 4 bits; convert to f32 in front of it}}
  %0 = shoal.cumulative sum %x dim = 1 : tensor<8x4xf8E4M3FN>
  return
}

// -----

// (C3)
func.func @reduce_prod_of_f8(%x: tensor<8x4xf8E5M2>) {
  // expected-error@+1 {{prod: expected a wider type than 'f8E5M2', which would round every partial result to 3 bits}}
  %0 = shoal.reduce prod %x dims = [1] : tensor<8x4xf8E5M2> -> tensor<8xf8E5M2>
  return
}

// -----

// (C1)
func.func @reduce_dim(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{dims[0]: -1 is not a dimension of a tensor of rank 2}}
  %0 = shoal.reduce sum %x dims = [-1] : tensor<8x4xf32> -> tensor<8xf32>
  return
}

// -----

// (C1)
func.func @reduce_dim_twice(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{dims: dimension 1 occurs twice}}
  %0 = shoal.reduce sum %x dims = [1, 1] : tensor<8x4xf32> -> tensor<8xf32>
  return
}

// -----

// (C1)
func.func @reduce_order(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{dims: expected ascending order but got [1, 0]}}
  %0 = shoal.reduce sum %x dims = [1, 0] : tensor<8x4xf32> -> tensor<f32>
  return
}

// -----

// (C2)
func.func @reduce_shape(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{result 0 dim 0: expected size 8 but got 4}}
  %0 = shoal.reduce sum %x dims = [1] : tensor<8x4xf32> -> tensor<4xf32>
  return
}

// -----

// (C2)
func.func @reduce_type(%x: tensor<8x4xbf16>) {
  // expected-error@+1 {{result 0: expected elements of type 'bf16' but got 'f32'}}
  %0 = shoal.reduce sum %x dims = [1] : tensor<8x4xbf16> -> tensor<8xf32>
  return
}

// -----

// (C3)
func.func @reduce_or_of_floats(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{or: expected integers but got 'f32'}}
  %0 = shoal.reduce or %x dims = [1] : tensor<8x4xf32> -> tensor<8xf32>
  return
}

// -----

// (C3)
func.func @reduce_sum_of_booleans(%x: tensor<8x4xi1>) {
  // expected-error@+1 {{sum: expected numbers but got i1; for booleans there are and and or}}
  %0 = shoal.reduce sum %x dims = [1] : tensor<8x4xi1> -> tensor<8xi1>
  return
}

// -----

// reduce_region (C1)
func.func @reduce_region_nothing() {
  // expected-error@+1 {{expected at least one operand}}
  "shoal.reduce_region"() <{dims = array<i64>}> ({ shoal.yield }) : () -> ()
  return
}

// -----

// reduce_region (C1)
func.func @reduce_region_shapes(%x: tensor<8x4xi32>, %y: tensor<8x5xi32>, %z: tensor<i32>) {
  // expected-error@+1 {{operand 1 dim 1: expected size 4 but got 5}}
  %0:2 = shoal.reduce_region(%x, %y) inits(%z, %z) dims = [1] {
  ^combine(%a: i32, %b: i32, %c: i32, %d: i32):
    shoal.yield %a, %b : i32, i32
  } : (tensor<8x4xi32>, tensor<8x5xi32>, tensor<i32>, tensor<i32>) -> (tensor<8xi32>, tensor<8xi32>)
  return
}

// -----

// reduce_region (C2)
func.func @reduce_region_dims(%x: tensor<8x4xi32>, %z: tensor<i32>) {
  // expected-error@+1 {{dims: expected ascending order but got [1, 0]}}
  %0 = shoal.reduce_region(%x) inits(%z) dims = [1, 0] {
  ^combine(%a: i32, %b: i32):
    shoal.yield %a : i32
  } : (tensor<8x4xi32>, tensor<i32>) -> tensor<i32>
  return
}

// -----

// reduce_region (C3)
func.func @reduce_region_init_type(%x: tensor<8x4xi32>, %z: tensor<f32>) {
  // expected-error@+1 {{init 0: expected elements of type 'i32' but got 'f32'}}
  %0 = shoal.reduce_region(%x) inits(%z) dims = [1] {
  ^combine(%a: i32, %b: i32):
    shoal.yield %a : i32
  } : (tensor<8x4xi32>, tensor<f32>) -> tensor<8xi32>
  return
}

// -----

// reduce_region (C3)
func.func @reduce_region_init_shape(%x: tensor<8x4xi32>, %z: tensor<1xi32>) {
  // expected-error@+1 {{init 0: expected rank 0 but got 1}}
  %0 = shoal.reduce_region(%x) inits(%z) dims = [1] {
  ^combine(%a: i32, %b: i32):
    shoal.yield %a : i32
  } : (tensor<8x4xi32>, tensor<1xi32>) -> tensor<8xi32>
  return
}

// -----

// reduce_region (C4)
func.func @reduce_region_result(%x: tensor<8x4xi32>, %z: tensor<i32>) {
  // expected-error@+1 {{result 0 dim 0: expected size 8 but got 4}}
  %0 = shoal.reduce_region(%x) inits(%z) dims = [1] {
  ^combine(%a: i32, %b: i32):
    shoal.yield %a : i32
  } : (tensor<8x4xi32>, tensor<i32>) -> tensor<4xi32>
  return
}

// -----

// reduce_region (C4)
func.func @reduce_region_result_count(%x: tensor<8x4xi32>, %z: tensor<i32>) {
  // expected-error@+1 {{expected 1 results, one for each operand, but got 2}}
  %0:2 = shoal.reduce_region(%x) inits(%z) dims = [1] {
  ^combine(%a: i32, %b: i32):
    shoal.yield %a : i32
  } : (tensor<8x4xi32>, tensor<i32>) -> (tensor<8xi32>, tensor<8xi32>)
  return
}

// -----

// reduce_region (C5)
func.func @reduce_region_argument_count(%x: tensor<8x4xi32>, %z: tensor<i32>) {
  // expected-error@+1 {{expected a combiner of 2 arguments for 1 operands but got 1}}
  %0 = shoal.reduce_region(%x) inits(%z) dims = [1] {
  ^combine(%a: i32):
    shoal.yield %a : i32
  } : (tensor<8x4xi32>, tensor<i32>) -> tensor<8xi32>
  return
}

// -----

// reduce_region (C5)
func.func @reduce_region_yield(%x: tensor<8x4xi32>, %z: tensor<i32>) {
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
func.func @reduce_region_terminator(%x: tensor<8x4xi32>, %z: tensor<i32>) {
  %0 = "shoal.reduce_region"(%x, %z) <{dims = array<i64: 1>}> ({
  ^combine(%a: i32, %b: i32):
    // expected-error@+1 {{block with no terminator}}
    %c = arith.addi %a, %b : i32
  }) : (tensor<8x4xi32>, tensor<i32>) -> tensor<8xi32>
  return
}

// -----

// reduce_region (C6)
func.func @reduce_region_body(%x: tensor<8x4xi32>, %z: tensor<i32>) {
  // expected-error@+1 {{expected a combiner of constants and elementwise ops on scalars}}
  %0 = shoal.reduce_region(%x) inits(%z) dims = [1] {
  ^combine(%a: i32, %b: i32):
    // expected-note@+1 {{'tensor.from_elements' is none}}
    %t = tensor.from_elements %a : tensor<1xi32>
    shoal.yield %b : i32
  } : (tensor<8x4xi32>, tensor<i32>) -> tensor<8xi32>
  return
}
