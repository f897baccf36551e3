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

// (R1)
func.func @vectors(%x: vector<4xf32>) {
  // expected-error@+1 {{expected operands to be all static memrefs but got 'vector<4xf32>'}}
  rt.copy ins(%x : vector<4xf32>) outs(%x : vector<4xf32>)
  return
}

// -----

// (R1)
func.func @no_rank(%x: memref<*xf32>) {
  // expected-error@+1 {{expected operands to be all static memrefs but got 'memref<*xf32>'}}
  rt.copy ins(%x : memref<*xf32>) outs(%x : memref<*xf32>)
  return
}

// -----

// (R1)
func.func @no_size(%x: memref<?xf32>) {
  // expected-error@+1 {{expected operands to be all static memrefs but got 'memref<?xf32>'}}
  rt.copy ins(%x : memref<?xf32>) outs(%x : memref<?xf32>)
  return
}

// -----

// (R1)
func.func @more_elements_than_there_are(%x: memref<268435456x268435456xi8>) {
  // expected-error@+1 {{expected less than 2^56 elements but got 'memref<268435456x268435456xi8>'}}
  rt.copy ins(%x : memref<268435456x268435456xi8>) outs(%x : memref<268435456x268435456xi8>)
  return
}

// -----

// (R1)
func.func @elements_of_index(%x: memref<4xindex>) {
  // expected-error@+1 {{the runtime has no elements of 'index'}}
  rt.copy ins(%x : memref<4xindex>) outs(%x : memref<4xindex>)
  return
}

// -----

// (R1)
func.func @elements_of_4_bits(%x: memref<4xi4>) {
  // expected-error@+1 {{the runtime has no elements of 'i4'}}
  rt.cumulative sum dim 0 ins(%x : memref<4xi4>) outs(%x : memref<4xi4>)
  return
}

// -----

// (R1)
func.func @complex_elements(%x: memref<4xcomplex<f32>>) {
  // expected-error@+1 {{the runtime has no elements of 'complex<f32>'}}
  rt.custom_call "f" outs(%x : memref<4xcomplex<f32>>)
  return
}

// -----

// (R1)
func.func @scalar_of_7_bits(%x: memref<i7>) {
  // expected-error@+1 {{the runtime has no elements of 'i7'}}
  %0 = rt.read_scalar %x : memref<i7>
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

// (R2)
func.func @other_result(%x: tensor<4xf32>) -> tensor<5xf32> {
  // expected-error@+1 {{expected type of operand #1 ('tensor<4xf32>') to match type of corresponding result ('tensor<5xf32>')}}
  %0 = rt.cumulative sum dim 0 ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----

// (R2)
func.func @result_of_memrefs(%x: memref<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{expected operands to be all static tensors but got 'memref<4xf32>'}}
  %0 = rt.cumulative sum dim 0 ins(%x : memref<4xf32>) outs(%x : memref<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
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

// (R3)
shoal.mesh @mesh = <["x" = 2]>
func.func @no_target_mesh(%x: memref<4xf32>) {
  // expected-error@+1 {{unknown mesh @other}}
  rt.collective_permute @mesh {"x"} -> @other {"x"} ins(%x : memref<4xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

// (R3)
shoal.mesh @mesh = <["x" = 2]>
func.func @axis_twice(%x: memref<i32>) {
  // expected-error@+1 {{axis "x" is used twice}}
  rt.axis_index @mesh {"x", "x"} outs(%x : memref<i32>)
  return
}

// -----

// (R4)
func.func @scratch_of_floats(%x: memref<4x6xf32>, %y: memref<4x6xf32>, %s: memref<64xf32>) {
  // expected-error@+1 {{operand #2 must be 1D memref of 8-bit signless integer values}}
  rt.sort keys 1 dim 0 ins(%x : memref<4x6xf32>) outs(%y : memref<4x6xf32>) scratch(%s : memref<64xf32>)
  return
}

// -----

// (R4)
func.func @scratch_of_tensors(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>, %s: memref<64xi8>) -> tensor<4x6xf32> {
  // expected-error@+1 {{expected operands to be all static tensors but got 'memref<64xi8>'}}
  %z = rt.sort keys 1 dim 0 ins(%x : tensor<4x6xf32>) outs(%y : tensor<4x6xf32>) scratch(%s : memref<64xi8>) -> tensor<4x6xf32>
  return %z : tensor<4x6xf32>
}

// -----

// (R5)
shoal.mesh @mesh = <["x" = 2]>
func.func @negative_collective(%x: memref<4xf32>) {
  // expected-error@+1 {{collective: expected a number of at least 0 but got -9}}
  rt.all_reduce sum @mesh {"x"} ins(%x : memref<4xf32>) outs(%x : memref<4xf32>) {collective = -9 : i64}
  return
}
