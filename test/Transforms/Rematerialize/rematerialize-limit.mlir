// A limit is kept for the fewest operations.
//
// RUN: shoal-opt %s --shoal-rematerialize=memory-limit=320B | FileCheck %s --check-prefixes=CHECK,ALL
// RUN: shoal-opt %s --shoal-rematerialize=memory-limit=256B | FileCheck %s --check-prefixes=CHECK,LESS

// The argument and four values have 64 bytes each, which are all there at the first
// op of the backward pass; its result, element by element, lies where its operand ends.

// CHECK-LABEL: func.func @f
// ALL-NOT: shoal.rematerialized
// LESS-SAME: shoal.rematerialized = ["what is computed again takes 22.22% of the forward pass's estimated time", "1 values of 64 bytes are not saved", "the peak is estimated at 256 bytes, with all saved at 320"
// CHECK: math.tanh
// ALL-NOT: barrier
// LESS: shoal.optimization_barrier
// CHECK: return
func.func @f(%x: tensor<16xf32>) -> tensor<16xf32> {
  %a = math.exp %x : tensor<16xf32>
  %b = math.sin %a : tensor<16xf32>
  %c = math.cos %b : tensor<16xf32>
  %d = math.tanh %c : tensor<16xf32>
  %g = arith.mulf %d, %c : tensor<16xf32> loc(fused<"gradient">["f.py":1:1])
  %h = arith.mulf %g, %b : tensor<16xf32>
  %i = arith.mulf %h, %a : tensor<16xf32>
  return %i : tensor<16xf32>
}
