// RUN: shoal-opt %s -split-input-file -verify-diagnostics

// einsum (C1)
func.func @spec(%x: memref<4xf32>) {
  // expected-error@+1 {{spec "a->a": expected 2 terms but got 1}}
  rt.einsum "a->a" ins(%x, %x : memref<4xf32>, memref<4xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

// einsum (C1)
func.func @letter_sizes(%x: memref<4xf32>, %y: memref<5xf32>) {
  // expected-error@+1 {{term 1 dim 0: letter 'a' has size 5 but 4 before}}
  rt.einsum "a,a->a" ins(%x, %y : memref<4xf32>, memref<5xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

// einsum (C1)
func.func @letter_of_the_output(%x: memref<4xf32>) {
  // expected-error@+1 {{the output dim 0: letter 'b' is in no other term}}
  rt.einsum "a,a->b" ins(%x, %x : memref<4xf32>, memref<4xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

// einsum (C1)
func.func @rank(%x: memref<4x4xf32>, %y: memref<4xf32>) {
  // expected-error@+1 {{term 0: rank 2 but 1 letters}}
  rt.einsum "a,a->a" ins(%x, %y : memref<4x4xf32>, memref<4xf32>) outs(%y : memref<4xf32>)
  return
}

// -----

// einsum (C1)
func.func @twice_in_the_result(%x: memref<4xf32>, %y: memref<4x4xf32>) {
  // expected-error@+1 {{the output dim 1: letter 'a' occurs twice}}
  rt.einsum "a,a->aa" ins(%x, %x : memref<4xf32>, memref<4xf32>) outs(%y : memref<4x4xf32>)
  return
}

// -----

// einsum (C2)
func.func @types(%x: memref<4xf32>, %y: memref<4xbf16>) {
  // expected-error@+1 {{does not multiply 'f32' and 'bf16' into 'f32'}}
  rt.einsum "a,a->a" ins(%x, %y : memref<4xf32>, memref<4xbf16>) outs(%x : memref<4xf32>)
  return
}

// -----

// einsum (C2)
func.func @integers_into_floats(%x: memref<4xi32>, %y: memref<4xf32>) {
  // expected-error@+1 {{does not multiply 'i32' and 'i32' into 'f32'}}
  rt.einsum "a,a->a" ins(%x, %x : memref<4xi32>, memref<4xi32>) outs(%y : memref<4xf32>)
  return
}

// -----

// einsum (C3)
func.func @scales(%x: memref<4xf32>, %s: memref<f32>) {
  // expected-error@+1 {{scales: expected operands of f8 but got 'f32' and 'f32'}}
  rt.einsum "a,a->a" ins(%x, %x : memref<4xf32>, memref<4xf32>) scales(%s : memref<f32>) outs(%x : memref<4xf32>)
  return
}

// -----

// einsum (C3)
func.func @three_scales(%x: memref<4xf8E5M2>, %y: memref<4xf32>, %s: memref<f32>) {
  // expected-error@+1 {{expected at most two scales but got 3}}
  rt.einsum "a,a->a" ins(%x, %x : memref<4xf8E5M2>, memref<4xf8E5M2>)
    scales(%s, %s, %s : memref<f32>, memref<f32>, memref<f32>) outs(%y : memref<4xf32>)
  return
}

// -----

// einsum (C3)
func.func @scales_of_many(%x: memref<4xf8E5M2>, %y: memref<4xf32>) {
  // expected-error@+1 {{expected a scale to be one f32 but got 'memref<4xf32>'}}
  rt.einsum "a,a->a" ins(%x, %x : memref<4xf8E5M2>, memref<4xf8E5M2>) scales(%y : memref<4xf32>) outs(%y : memref<4xf32>)
  return
}

// -----

// einsum (C4)
func.func @bias_letters(%x: memref<4xf32>, %b: memref<4xf32>) {
  // expected-error@+1 {{bias: expected letters of the result, each once, but got "b"}}
  rt.einsum "a,a->a" ins(%x, %x : memref<4xf32>, memref<4xf32>) bias "b"(%b : memref<4xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

// einsum (C4)
func.func @bias_size(%x: memref<4xf32>, %b: memref<3xf32>) {
  // expected-error@+1 {{bias dim 0: letter 'a' has size 3 but 4 in the output}}
  rt.einsum "a,a->a" ins(%x, %x : memref<4xf32>, memref<4xf32>) bias "a"(%b : memref<3xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

// einsum (C4)
func.func @bias_rank(%x: memref<4xf32>, %b: memref<4x4xf32>) {
  // expected-error@+1 {{bias: rank 2 but 1 letters}}
  rt.einsum "a,a->a" ins(%x, %x : memref<4xf32>, memref<4xf32>) bias "a"(%b : memref<4x4xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

// einsum (C4)
func.func @bias_letter_twice(%x: memref<4xf32>, %b: memref<4x4xf32>) {
  // expected-error@+1 {{bias: expected letters of the result, each once, but got "aa"}}
  rt.einsum "a,a->a" ins(%x, %x : memref<4xf32>, memref<4xf32>) bias "aa"(%b : memref<4x4xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

// einsum (C4)
func.func @bias_elements(%x: memref<4xf32>, %b: memref<4xbf16>) {
  // expected-error@+1 {{bias: expected elements of 'f32' but got 'bf16'}}
  rt.einsum "a,a->a" ins(%x, %x : memref<4xf32>, memref<4xf32>) bias "a"(%b : memref<4xbf16>) outs(%x : memref<4xf32>)
  return
}

// -----

// einsum (C4)
func.func @letters_of_no_bias(%x: memref<4xf32>) {
  // expected-error@+1 {{expected a bias and its letters, or neither}}
  "rt.einsum"(%x, %x, %x) <{spec = "a,a->a", bias_letters = "a", operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 0>}>
    : (memref<4xf32>, memref<4xf32>, memref<4xf32>) -> ()
  return
}

// -----

// einsum (C5)
func.func @activation_of_integers(%x: memref<4xi32>) {
  // expected-error@+1 {{expected floats where there is a bias, a scale or an activation but got 'i32'}}
  rt.einsum "a,a->a" ins(%x, %x : memref<4xi32>, memref<4xi32>) activation relu outs(%x : memref<4xi32>)
  return
}

// -----

// ragged_einsum (C1)
func.func @terms(%x: memref<4xf32>, %b: memref<4xi32>) {
  // expected-error@+1 {{spec "a,a->a": expected 3 terms but got 2}}
  rt.ragged_einsum "a,a->a" rows "a" ins(%x, %x : memref<4xf32>, memref<4xf32>)
    groups(%b, %b : memref<4xi32>, memref<4xi32>) outs(%x : memref<4xf32>)
  return
}

// -----

// ragged_einsum (C1)
func.func @ends_of_another_size(%x: memref<4x2xf32>, %w: memref<3x2x5xf32>, %b: memref<3xi32>, %e: memref<4xi32>, %y: memref<4x5xf32>) {
  // expected-error@+1 {{term 3 dim 0: letter 'E' has size 4 but 3 before}}
  rt.ragged_einsum "TM,EMH,E->TH" rows "T" ins(%x, %w : memref<4x2xf32>, memref<3x2x5xf32>)
    groups(%b, %e : memref<3xi32>, memref<4xi32>) outs(%y : memref<4x5xf32>)
  return
}

// -----

// ragged_einsum (C2)
func.func @rows(%x: memref<4x2xf32>, %w: memref<3x2x5xf32>, %b: memref<3xi32>, %y: memref<4x5xf32>) {
  // expected-error@+1 {{rows: expected a letter of the operands, and not of the bounds, but got "X"}}
  rt.ragged_einsum "TM,EMH,E->TH" rows "X" ins(%x, %w : memref<4x2xf32>, memref<3x2x5xf32>)
    groups(%b, %b : memref<3xi32>, memref<3xi32>) outs(%y : memref<4x5xf32>)
  return
}

// -----

// ragged_einsum (C2)
func.func @rows_of_the_bounds(%x: memref<4x2xf32>, %w: memref<3x2x5xf32>, %b: memref<3xi32>, %y: memref<4x5xf32>) {
  // expected-error@+1 {{rows: expected a letter of the operands, and not of the bounds, but got "E"}}
  rt.ragged_einsum "TM,EMH,E->TH" rows "E" ins(%x, %w : memref<4x2xf32>, memref<3x2x5xf32>)
    groups(%b, %b : memref<3xi32>, memref<3xi32>) outs(%y : memref<4x5xf32>)
  return
}

// -----

// ragged_einsum (C3)
func.func @bounds(%x: memref<4x2xf32>, %w: memref<3x2x5xf32>, %b: memref<3xi16>, %y: memref<4x5xf32>) {
  // expected-error@+1 {{expected bounds of i32, or both of i64, but got 'i16' and 'i16'}}
  rt.ragged_einsum "TM,EMH,E->TH" rows "T" ins(%x, %w : memref<4x2xf32>, memref<3x2x5xf32>)
    groups(%b, %b : memref<3xi16>, memref<3xi16>) outs(%y : memref<4x5xf32>)
  return
}

// -----

// ragged_einsum (C3)
func.func @ragged_types(%x: memref<4x2xbf16>, %w: memref<3x2x5xbf16>, %b: memref<3xi32>, %y: memref<4x5xf16>) {
  // expected-error@+1 {{does not multiply 'bf16' and 'bf16' into 'f16'}}
  rt.ragged_einsum "TM,EMH,E->TH" rows "T" ins(%x, %w : memref<4x2xbf16>, memref<3x2x5xbf16>)
    groups(%b, %b : memref<3xi32>, memref<3xi32>) outs(%y : memref<4x5xf16>)
  return
}
