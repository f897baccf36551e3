// RUN: shoal-opt %s -split-input-file -verify-diagnostics

// The laws of ragged_einsum and ragged_dot.

// (R1)
func.func @two_terms(%x: tensor<12x4xf32>, %w: tensor<3x4x5xf32>, %g: tensor<3xi32>) {
  // expected-error@+1 {{spec "TM,EMH->TH": expected 3 terms, of both operands and the groups, but got 2}}
  %0 = shoal.ragged_einsum "TM,EMH->TH" rows "T" %x, %w groups %g, %g : (tensor<12x4xf32>, tensor<3x4x5xf32>, tensor<3xi32>, tensor<3xi32>) -> tensor<12x5xf32>
  return
}

// -----

// (R1)
func.func @no_arrow(%x: tensor<12x4xf32>, %w: tensor<3x4x5xf32>, %g: tensor<3xi32>) {
  // expected-error@+1 {{spec "TM,EMH,E": expected one "->" between operands and result}}
  %0 = shoal.ragged_dot "TM,EMH,E" rows "T" %x, %w sizes %g : (tensor<12x4xf32>, tensor<3x4x5xf32>, tensor<3xi32>) -> tensor<12x5xf32>
  return
}

// -----

// (R1)
func.func @no_groups(%x: tensor<12x4xf32>, %w: tensor<4x5xf32>, %g: tensor<i32>) {
  // expected-error@+1 {{spec "TM,MH,->TH": the third term has no letter for the groups}}
  %0 = shoal.ragged_dot "TM,MH,->TH" rows "T" %x, %w sizes %g : (tensor<12x4xf32>, tensor<4x5xf32>, tensor<i32>) -> tensor<12x5xf32>
  return
}

// -----

// (R1)
func.func @diagonal(%x: tensor<12x12xf32>, %w: tensor<3x12x5xf32>, %g: tensor<3xi32>) {
  // expected-error@+1 {{spec "TT,ETH,E->TH": letter 'T' occurs twice in term 0}}
  %0 = shoal.ragged_dot "TT,ETH,E->TH" rows "T" %x, %w sizes %g : (tensor<12x12xf32>, tensor<3x12x5xf32>, tensor<3xi32>) -> tensor<12x5xf32>
  return
}

// -----

// (R1)
// expected-note@+1 {{operand 1 is defined here}}
func.func @sizes(%x: tensor<12x4xf32>, %w: tensor<3x4x5xf32>, %g: tensor<2xi32>) {
  // expected-error@+1 {{operand 2 dim 0: letter 'E' has size 2 but operand 1 dim 0 has 3}}
  %0 = shoal.ragged_dot "TM,EMH,E->TH" rows "T" %x, %w sizes %g : (tensor<12x4xf32>, tensor<3x4x5xf32>, tensor<2xi32>) -> tensor<12x5xf32>
  return
}

// -----

// (R2)
func.func @rows_letters(%x: tensor<12x4xf32>, %w: tensor<3x4x5xf32>, %g: tensor<3xi32>) {
  // expected-error@+1 {{rows "TM": expected one letter but got 2}}
  %0 = shoal.ragged_dot "TM,EMH,E->TH" rows "TM" %x, %w sizes %g : (tensor<12x4xf32>, tensor<3x4x5xf32>, tensor<3xi32>) -> tensor<12x5xf32>
  return
}

// -----

// (R2)
func.func @rows_of_groups(%x: tensor<12x4xf32>, %w: tensor<3x4x5xf32>, %g: tensor<3xi32>) {
  // expected-error@+1 {{rows "E": expected a letter of an operand that the third term lacks}}
  %0 = shoal.ragged_dot "TM,EMH,E->TH" rows "E" %x, %w sizes %g : (tensor<12x4xf32>, tensor<3x4x5xf32>, tensor<3xi32>) -> tensor<12x5xf32>
  return
}

// -----

// (R2)
func.func @result_letter(%x: tensor<12x4xf32>, %w: tensor<3x4x5xf32>, %g: tensor<3xi32>) {
  // expected-error@+1 {{result 0 dim 1: letter 'K' is in no operand}}
  %0 = shoal.ragged_dot "TM,EMH,E->TK" rows "T" %x, %w sizes %g : (tensor<12x4xf32>, tensor<3x4x5xf32>, tensor<3xi32>) -> tensor<12x5xf32>
  return
}

// -----

// (R3)
func.func @bounds_type(%x: tensor<12x4xf32>, %w: tensor<3x4x5xf32>, %g: tensor<3xi8>) {
  // expected-error@+1 {{operand 2: expected elements of type i32 or i64 but got 'i8'}}
  %0 = shoal.ragged_dot "TM,EMH,E->TH" rows "T" %x, %w sizes %g : (tensor<12x4xf32>, tensor<3x4x5xf32>, tensor<3xi8>) -> tensor<12x5xf32>
  return
}

// -----

// (R3)
func.func @bounds_differ(%x: tensor<12x4xf32>, %w: tensor<3x4x5xf32>, %b: tensor<3xi32>, %e: tensor<3xi64>) {
  // expected-error@+1 {{operand 3: expected elements of type 'i32' but got 'i64'}}
  %0 = shoal.ragged_einsum "TM,EMH,E->TH" rows "T" %x, %w groups %b, %e : (tensor<12x4xf32>, tensor<3x4x5xf32>, tensor<3xi32>, tensor<3xi64>) -> tensor<12x5xf32>
  return
}

// -----

// (R3)
func.func @narrow_result(%x: tensor<12x4xf32>, %w: tensor<3x4x5xf32>, %g: tensor<3xi32>) {
  // expected-error@+1 {{result 0: expected elements of type 'f32' or a wider one of its kind but got 'bf16'}}
  %0 = shoal.ragged_dot "TM,EMH,E->TH" rows "T" %x, %w sizes %g : (tensor<12x4xf32>, tensor<3x4x5xf32>, tensor<3xi32>) -> tensor<12x5xbf16>
  return
}
