// RUN: shoal-opt %s -split-input-file -verify-diagnostics

// The laws of einsum (E).

// (E1)
func.func @no_arrow(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{spec "ab": expected one "->" between operands and result}}
  %0 = shoal.einsum "ab" %x : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

// (E1)
func.func @ellipsis(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{spec "...a->...a": expected letters in "...a" but got '.'}}
  %0 = shoal.einsum "...a->...a" %x : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

// (E1)
func.func @fewer_operands(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{spec "ab,bc->ac": expected 1 or 2 operands, as many as the op has, 1, but got 2}}
  %0 = shoal.einsum "ab,bc->ac" %x : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

// (E1)
func.func @three_operands(%x: tensor<4x4xf32>) {
  // expected-error@+1 {{spec "ab,bc,cd->ad": expected 1 or 2 operands, as many as the op has, 3, but got 3}}
  %0 = shoal.einsum "ab,bc,cd->ad" %x, %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

// (E1)
func.func @no_operand() {
  // expected-error@+1 {{spec "->": expected 1 or 2 operands, as many as the op has, 0, but got 1}}
  %0 = shoal.einsum "->" : () -> tensor<f32>
  return
}

// -----

// (E2)
func.func @operand_rank(%x: tensor<8x16x4xf32>, %w: tensor<4x8xf32>) {
  // expected-error@+1 {{operand 0: rank 3 but 2 letters in "SM,ME->SE"}}
  %0 = shoal.einsum "SM,ME->SE" %x, %w : (tensor<8x16x4xf32>, tensor<4x8xf32>) -> tensor<16x8xf32>
  return
}

// -----

// (E2)
func.func @result_rank(%x: tensor<16x4xf32>, %w: tensor<4x8xf32>) {
  // expected-error@+1 {{result 0: rank 1 but 2 letters in "SM,ME->SE"}}
  %0 = shoal.einsum "SM,ME->SE" %x, %w : (tensor<16x4xf32>, tensor<4x8xf32>) -> tensor<16xf32>
  return
}

// -----

// (E3)
func.func @letter_with_two_sizes(
    // expected-note@+1 {{operand 0 is defined here}}
    %x: tensor<8x512x256xf32>,
    %w: tensor<128x8xf32>) {
  // expected-error@+1 {{operand 1 dim 0: letter 'M' has size 128 but operand 0 dim 2 has 256}}
  %0 = shoal.einsum "GSM,ME->GSE" %x, %w : (tensor<8x512x256xf32>, tensor<128x8xf32>) -> tensor<8x512x8xf32>
  return
}

// -----

// (E3)
func.func @diagonal_with_two_sizes(
    // expected-note@+1 {{operand 0 is defined here}}
    %x: tensor<8x4xf32>) {
  // expected-error@+1 {{operand 0 dim 1: letter 'a' has size 4 but operand 0 dim 0 has 8}}
  %0 = shoal.einsum "aa->a" %x : (tensor<8x4xf32>) -> tensor<8xf32>
  return
}

// -----

// (E3)
func.func @result_of_another_size(
    %x: tensor<16x4xf32>,
    // expected-note@+1 {{operand 1 is defined here}}
    %w: tensor<4x8xf32>) {
  // expected-error@+1 {{result 0 dim 1: letter 'E' has size 9 but operand 1 dim 1 has 8}}
  %0 = shoal.einsum "SM,ME->SE" %x, %w : (tensor<16x4xf32>, tensor<4x8xf32>) -> tensor<16x9xf32>
  return
}

// -----

// (E4)
func.func @letter_from_nowhere(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{result 0 dim 1: letter 'c' is in no operand}}
  %0 = shoal.einsum "ab->ac" %x : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

// (E4): no diagonal is written.
func.func @result_letter_twice(%x: tensor<8xf32>) {
  // expected-error@+1 {{result 0 dim 1: letter 'a' occurs twice in the result}}
  %0 = shoal.einsum "a->aa" %x : (tensor<8xf32>) -> tensor<8x8xf32>
  return
}

// -----

// (E5)
func.func @operands_of_two_types(%x: tensor<8xf32>, %y: tensor<8xbf16>) {
  // expected-error@+1 {{operand 1: expected elements of type 'f32' but got 'bf16'}}
  %0 = shoal.einsum "a,a->" %x, %y : (tensor<8xf32>, tensor<8xbf16>) -> tensor<f32>
  return
}

// -----

// (E5)
func.func @narrower_result(%x: tensor<8xf32>) {
  // expected-error@+1 {{result 0: expected elements of type 'f32' or a wider one of its kind but got 'f16'}}
  %0 = shoal.einsum "a->" %x : (tensor<8xf32>) -> tensor<f16>
  return
}

// -----

// (E5)
func.func @result_of_another_kind(%x: tensor<8xf32>) {
  // expected-error@+1 {{result 0: expected elements of type 'f32' or a wider one of its kind but got 'i64'}}
  %0 = shoal.einsum "a->" %x : (tensor<8xf32>) -> tensor<i64>
  return
}

// -----

// (E5)
func.func @booleans(%x: tensor<8xi1>) {
  // expected-error@+1 {{operand 0: expected numbers but got i1}}
  %0 = shoal.einsum "a->" %x : (tensor<8xi1>) -> tensor<i1>
  return
}

// -----

func.func @dynamic_shape(%x: tensor<?xf32>) {
  // expected-error@+1 {{operand #0 must be variadic of statically shaped tensor}}
  %0 = shoal.einsum "a->" %x : (tensor<?xf32>) -> tensor<f32>
  return
}

// -----

func.func @too_many_elements(%x: tensor<4611686018427387904xf32>) {
  // expected-error@+1 {{less than 2^56 elements}}
  %0 = shoal.einsum "a,b->ab" %x, %x : (tensor<4611686018427387904xf32>, tensor<4611686018427387904xf32>) -> tensor<4611686018427387904x4611686018427387904xf32>
  return
}

// -----

// (E5)
func.func @result_of_f8(%x: tensor<8x4xf8E4M3FN>, %w: tensor<4x2xf8E5M2>) {
  // expected-error@+1 {{result 0: expected floats of 16 bits or more, in which products of 'f8E4M3FN' are summed, but got 'f8E4M3FN'}}
  %0 = shoal.einsum "ab,bc->ac" %x, %w : (tensor<8x4xf8E4M3FN>, tensor<4x2xf8E5M2>) -> tensor<8x2xf8E4M3FN>
  return
}

// -----

// (E5)
func.func @f8_and_bf16(%x: tensor<8x4xf8E4M3FN>, %w: tensor<4x2xbf16>) {
  // expected-error@+1 {{operand 1: expected elements of type 'f8E4M3FN' but got 'bf16'}}
  %0 = shoal.einsum "ab,bc->ac" %x, %w : (tensor<8x4xf8E4M3FN>, tensor<4x2xbf16>) -> tensor<8x2xf32>
  return
}

// -----

// Other floats of 8 bits are none of Shoal's.
func.func @other_float8(%x: tensor<8x4xf8E4M3FNUZ>) {
  // expected-error@+1 {{operand #0 must be statically shaped tensor of}}
  %0 = shoal.transpose %x permutation = [1, 0] : tensor<8x4xf8E4M3FNUZ> -> tensor<4x8xf8E4M3FNUZ>
  return
}
