// RUN: shoal-opt %s --split-input-file --verify-diagnostics --shoal-plan-products=machine=cpu
// Without the pass there is nothing to lower.
// RUN: not shoal-opt %s --split-input-file --shoal-lower-runtime-calls 2>&1 | FileCheck %s

func.func @a_plan_for_the_other_machine(%x: memref<64x64xf32>) {
  // expected-error @+1 {{'rt.einsum' op is planned for the other kind of machine}}
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<64x64xf32>, memref<64x64xf32>) outs(%x : memref<64x64xf32>)
    plan <gpu gemm 64x64x64 a [64, 1] b [64, 1] c [64, 1]>
  return
}

// -----

func.func @no_plan(%x: memref<64x64xf32>) {
  // CHECK: :[[@LINE+1]]:3: error: 'rt.einsum' op expected a plan: run --shoal-plan-products before lowering calls
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<64x64xf32>, memref<64x64xf32>) outs(%x : memref<64x64xf32>)
  return
}
