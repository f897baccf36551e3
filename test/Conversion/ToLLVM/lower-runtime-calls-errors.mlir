// RUN: shoal-opt %s --split-input-file --verify-diagnostics --shoal-lower-runtime-calls

shoal.mesh @mesh = <["x" = 2]>
func.func @a_result(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'rt.all_reduce' op expected memrefs: bufferize before lowering calls}}
  %0 = rt.all_reduce sum @mesh {"x"} ins(%x : tensor<4xf32>) outs(%y : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

shoal.mesh @mesh = <["x" = 2]>
func.func @operands_alone(%x: tensor<4xf32>) {
  // expected-error @+1 {{'rt.check' op expected memrefs: bufferize before lowering calls}}
  rt.check 0 input "arg0" at "f.py:2:3" <@mesh, [{"x"}]> of [8] sources [] ins(%x : tensor<4xf32>) {nan}
  return
}

// -----

func.func @no_plan(%x: memref<64x64xf32>) {
  // expected-error @+1 {{'rt.einsum' op expected a plan: run --shoal-plan-products before lowering calls}}
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<64x64xf32>, memref<64x64xf32>) outs(%x : memref<64x64xf32>)
  return
}

// -----

func.func @step(%x: memref<4xf32>) {
  // expected-error @+1 {{custom_call "step": the program has something else of this name}}
  rt.custom_call "step" outs(%x : memref<4xf32>)
  return
}
