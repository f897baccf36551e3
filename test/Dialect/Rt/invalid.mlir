// RUN: shoal-opt %s -split-input-file -verify-diagnostics

// (R1)
func.func @mixed(%x: memref<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{expected operands to be all static tensors but got 'memref<4xf32>'}}
  %0 = rt.cumulative sum dim 0 ins(%x : memref<4xf32>) outs(%y : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// (R1)
func.func @strided(%x: memref<4xf32, strided<[2]>>, %y: memref<4xf32>) {
  // expected-error@+1 {{expected dense memrefs but got 'memref<4xf32, strided<[2]>>'}}
  rt.cumulative sum dim 0 ins(%x : memref<4xf32, strided<[2]>>) outs(%y : memref<4xf32>)
  return
}

// -----

// (R1), (R2)
func.func @no_result(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected operands to be all static memrefs but got 'tensor<4xf32>'}}
  rt.cumulative sum dim 0 ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>)
  return
}

// -----

// (R2)
func.func @too_few_results(%x: tensor<2x4xf32>, %v: tensor<2x3xf32>, %i: tensor<2x3xi32>) -> tensor<2x3xf32> {
  // expected-error@+1 {{expected the number of tensor results (1) to be equal to the number of output tensors (2)}}
  %0 = rt.top_k ins(%x : tensor<2x4xf32>) outs(%v, %i : tensor<2x3xf32>, tensor<2x3xi32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

// (R3)
func.func @no_mesh(%x: memref<4xf32>) {
  // expected-error@+1 {{unknown mesh @mesh}}
  rt.all_reduce sum @mesh {"x"} ins(%x : memref<4xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

// (R3)
// expected-note@+1 {{the mesh is defined here}}
shoal.mesh @mesh = <["x" = 2]>
func.func @no_axis(%x: memref<i32>) {
  // expected-error@+1 {{unknown axis "y" in mesh @mesh}}
  rt.axis_index @mesh {"y"} outs(%x : memref<i32>)
  return
}

// -----

// axis_index (C1)
shoal.mesh @mesh = <["x" = 2]>
func.func @index_is_i32(%x: memref<i64>) {
  // expected-error@+1 {{expected a scalar of i32 but got 'memref<i64>'}}
  rt.axis_index @mesh {"x"} outs(%x : memref<i64>)
  return
}

// -----

// all_gather (C1)
shoal.mesh @mesh = <["x" = 2]>
func.func @axes_missing(%x: memref<2x2xf32>, %y: memref<4x2xf32>) {
  // expected-error@+1 {{axes: expected an entry for each of 2 dimensions but got 1}}
  rt.all_gather @mesh [{"x"}] ins(%x : memref<2x2xf32>) outs(%y : memref<4x2xf32>)
  return
}

// -----

// all_gather (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @block_size(%x: memref<3xf32>, %y: memref<4xf32>) {
  // expected-error@+1 {{expected blocks of 'memref<4xf32>' to be 'memref<2xf32>' but got 'memref<3xf32>'}}
  rt.all_gather @mesh [{"x"}] ins(%x : memref<3xf32>) outs(%y : memref<4xf32>)
  return
}

// -----

// all_slice (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @block_type(%x: memref<4xf32>, %y: memref<2xbf16>) {
  // expected-error@+1 {{expected an output of 'f32' but got 'bf16'}}
  rt.all_slice @mesh [{"x"}] ins(%x : memref<4xf32>) outs(%y : memref<2xbf16>)
  return
}

// -----

// all_reduce (C1)
shoal.mesh @mesh = <["x" = 2]>
func.func @other_shape(%x: memref<4xf32>, %y: memref<2x2xf32>) {
  // expected-error@+1 {{expected input and output of one shape but got 'memref<4xf32>' and 'memref<2x2xf32>'}}
  rt.all_reduce sum @mesh {"x"} ins(%x : memref<4xf32>) outs(%y : memref<2x2xf32>)
  return
}

// -----

// all_reduce (C2), reduce_scatter (C3)
shoal.mesh @mesh = <["x" = 2]>
func.func @bits_of_floats(%x: memref<4xf32>, %y: memref<2xf32>) {
  // expected-error@+1 {{or: expected integers but got 'f32'}}
  rt.reduce_scatter or @mesh [{"x"}] ins(%x : memref<4xf32>) outs(%y : memref<2xf32>)
  return
}

// -----

// all_to_all (C1)
shoal.mesh @mesh = <["x" = 2]>
func.func @same_dim(%x: memref<4x2xf32>) {
  // expected-error@+1 {{moves[0]: dimension 1 is both source and target}}
  rt.all_to_all @mesh [{"x"} : 1 -> 1] ins(%x : memref<4x2xf32>) outs(%x : memref<4x2xf32>)
  return
}

// -----

// all_to_all (C1)
shoal.mesh @mesh = <["x" = 2]>
func.func @no_move(%x: memref<4x2xf32>) {
  // expected-error@+1 {{expected a move}}
  rt.all_to_all @mesh [] ins(%x : memref<4x2xf32>) outs(%x : memref<4x2xf32>)
  return
}

// -----

// all_to_all (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @other_rank(%x: memref<4x2xf32>, %y: memref<8xf32>) {
  // expected-error@+1 {{expected an output of rank 2 but got 1}}
  rt.all_to_all @mesh [{"x"} : 0 -> 1] ins(%x : memref<4x2xf32>) outs(%y : memref<8xf32>)
  return
}

// -----

// collective_permute (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @shift(%x: memref<4xf32>) {
  // expected-error@+1 {{shift 2 is not in the range [0, 2) of the indices over {"x"}}}
  rt.collective_permute @mesh {"x"} -> @mesh {"x"} ins(%x : memref<4xf32>) outs(%x : memref<4xf32>) {shift = 2 : i64}
  return
}

// -----

// exchange (C1)
shoal.mesh @mesh = <["x" = 2]>
func.func @dims_missing(%x: memref<4xf32>) {
  // expected-error@+1 {{dims: expected an entry for each of 1 dimensions but got 0}}
  rt.exchange @mesh -> @mesh [] ins(%x : memref<4xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

// exchange (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @input_size(%x: memref<4xf32>, %y: memref<3xf32>) {
  // expected-error@+1 {{expected an input of 'memref<5xf32>' but got 'memref<4xf32>'}}
  rt.exchange @mesh -> @mesh [#rt.exchange_dim<size = 9, rows = 3, source = {"x"}, target = {}>]
    ins(%x : memref<4xf32>) outs(%y : memref<3xf32>)
  return
}

// -----

// exchange (C2)
shoal.mesh @mesh = <["x" = 2]>
func.func @output_size(%x: memref<4xf32>, %y: memref<3xf32>) {
  // expected-error@+1 {{expected an output of 'memref<2xf32>' but got 'memref<3xf32>'}}
  rt.exchange @mesh -> @mesh [#rt.exchange_dim<size = 8, rows = 2, source = {"x"}, target = {}>]
    ins(%x : memref<4xf32>) outs(%y : memref<3xf32>)
  return
}

// -----

// cumulative (C1)
func.func @no_dim(%x: memref<4xf32>) {
  // expected-error@+1 {{dim: 1 is not a dimension of a tensor of rank 1}}
  rt.cumulative sum dim 1 ins(%x : memref<4xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

// cumulative (C2)
func.func @other_elements(%x: memref<4xf32>, %y: memref<4xi32>) {
  // expected-error@+1 {{expected an output like the input, 'memref<4xf32>', but got 'memref<4xi32>'}}
  rt.cumulative sum dim 0 ins(%x : memref<4xf32>) outs(%y : memref<4xi32>)
  return
}

// -----

// top_k (C1)
func.func @more_than_there_are(%x: memref<2x4xf32>, %v: memref<2x5xf32>, %i: memref<2x5xi32>) {
  // expected-error@+1 {{expected two outputs of the input's shape, 'memref<2x4xf32>', but for the last size}}
  rt.top_k ins(%x : memref<2x4xf32>) outs(%v, %i : memref<2x5xf32>, memref<2x5xi32>)
  return
}

// -----

// top_k (C2)
func.func @indices_are_i32(%x: memref<2x4xf32>, %v: memref<2x3xf32>, %i: memref<2x3xi64>) {
  // expected-error@+1 {{expected values of 'f32' and indices of i32 but got 'f32' and 'i64'}}
  rt.top_k ins(%x : memref<2x4xf32>) outs(%v, %i : memref<2x3xf32>, memref<2x3xi64>)
  return
}

// -----

// sort (C1)
func.func @no_key(%x: memref<4xf32>) {
  // expected-error@+1 {{expected 1 to 1 keys but got 2}}
  rt.sort keys 2 dim 0 ins(%x : memref<4xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

// sort (C2)
func.func @two_shapes(%x: memref<4xf32>, %y: memref<5xf32>) {
  // expected-error@+1 {{expected operands of one shape but got 'memref<4xf32>' and 'memref<5xf32>'}}
  rt.sort keys 1 dim 0 ins(%x, %y : memref<4xf32>, memref<5xf32>) outs(%x, %y : memref<4xf32>, memref<5xf32>)
  return
}

// -----

// gather (C1)
func.func @window_too_long(%x: memref<4xf32>, %i: memref<1xi32>, %y: memref<5xf32>) {
  // expected-error@+1 {{windows dim 0: no window of 5 fits into 4}}
  rt.gather <[4 by 5 step 1 at 0]> ins(%x, %i : memref<4xf32>, memref<1xi32>) outs(%y : memref<5xf32>)
  return
}

// -----

// gather (C1)
func.func @place_not_in_indices(%x: memref<4xf32>, %i: memref<1xi32>, %y: memref<2xf32>) {
  // expected-error@+1 {{windows dim 0: place 1 is not in 'memref<1xi32>'}}
  rt.gather <[4 by 2 step 1 at 1]> ins(%x, %i : memref<4xf32>, memref<1xi32>) outs(%y : memref<2xf32>)
  return
}

// -----

// gather (C1)
func.func @other_operand(%x: memref<4xf32>, %i: memref<1xi32>, %y: memref<2xf32>) {
  // expected-error@+1 {{windows dim 0: expected size 4 but got 5}}
  rt.gather <[5 by 2 step 1 at 0]> ins(%x, %i : memref<4xf32>, memref<1xi32>) outs(%y : memref<2xf32>)
  return
}

// -----

// gather (C2)
func.func @elements(%x: memref<4xf32>, %i: memref<1xi32>, %y: memref<3xf32>) {
  // expected-error@+1 {{windows have 2 elements but the windows' tensor is 'memref<3xf32>'}}
  rt.gather <[4 by 2 step 1 at 0]> ins(%x, %i : memref<4xf32>, memref<1xi32>) outs(%y : memref<3xf32>)
  return
}

// -----

// scatter, gather (C3)
func.func @indices_are_integers(%x: memref<4xf32>, %i: memref<1xf32>, %u: memref<2xf32>) {
  // expected-error@+1 {{expected windows of 'f32' and indices of integers}}
  rt.scatter <[4 by 2 step 1 at 0]> ins(%i, %u : memref<1xf32>, memref<2xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

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

// einsum (C2)
func.func @types(%x: memref<4xf32>, %y: memref<4xbf16>) {
  // expected-error@+1 {{does not multiply 'f32' and 'bf16' into 'f32'}}
  rt.einsum "a,a->a" ins(%x, %y : memref<4xf32>, memref<4xbf16>) outs(%x : memref<4xf32>)
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

// einsum (C5)
func.func @activation_of_integers(%x: memref<4xi32>) {
  // expected-error@+1 {{expected floats where there is a bias, a scale or an activation but got 'i32'}}
  rt.einsum "a,a->a" ins(%x, %x : memref<4xi32>, memref<4xi32>) activation relu outs(%x : memref<4xi32>)
  return
}

// -----

// ragged_einsum (C2)
func.func @rows(%x: memref<4x2xf32>, %w: memref<3x2x5xf32>, %b: memref<3xi32>, %y: memref<4x5xf32>) {
  // expected-error@+1 {{rows: expected a letter of the spec but got "X"}}
  rt.ragged_einsum "TM,EMH,E->TH" rows "X" ins(%x, %w : memref<4x2xf32>, memref<3x2x5xf32>)
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

// launch (C1)
func.func @block(%x: memref<4xf32>) {
  // expected-error@+1 {{expected three sizes each but got grid [1, 1, 1] and block [32, 0, 1]}}
  rt.launch 0 grid [1, 1, 1] block [32, 0, 1] touches [#rt.touch<write 16 from 0>] outs(%x : memref<4xf32>)
  return
}

// -----

// launch (C2)
func.func @touches(%x: memref<4xf32>) {
  // expected-error@+1 {{touches: expected 1 entries but got 0}}
  rt.launch 0 grid [1, 1, 1] block [32, 1, 1] touches [] outs(%x : memref<4xf32>)
  return
}

// -----

// copy (C1)
func.func @copy(%x: memref<4xf32>, %y: memref<5xf32>) {
  // expected-error@+1 {{expected an output like the input, 'memref<4xf32>', but got 'memref<5xf32>'}}
  rt.copy ins(%x : memref<4xf32>) outs(%y : memref<5xf32>)
  return
}

// -----

func.func @scratch_of_floats(%x: memref<4x6xf32>, %y: memref<4x6xf32>, %s: memref<64xf32>) {
  // (R4)
  // expected-error @+1 {{operand #2 must be 1D memref of 8-bit signless integer values}}
  rt.sort keys 1 dim 0 ins(%x : memref<4x6xf32>) outs(%y : memref<4x6xf32>) scratch(%s : memref<64xf32>)
  return
}

// -----

func.func @scratch_of_tensors(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>, %s: memref<64xi8>) -> tensor<4x6xf32> {
  // (R4)
  // expected-error @+1 {{expected operands to be all static tensors but got 'memref<64xi8>'}}
  %z = rt.sort keys 1 dim 0 ins(%x : tensor<4x6xf32>) outs(%y : tensor<4x6xf32>) scratch(%s : memref<64xi8>) -> tensor<4x6xf32>
  return %z : tensor<4x6xf32>
}

// -----

func.func @sort_of_two_into_one(%x: memref<4x6xf32>, %y: memref<4x6xf32>) {
  // expected-error @+1 {{expected 2 outputs but got 1}}
  rt.sort keys 1 dim 0 ins(%x, %x : memref<4x6xf32>, memref<4x6xf32>) outs(%y : memref<4x6xf32>)
  return
}
