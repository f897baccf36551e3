// Limits that nothing keeps, and options that are malformed.
//
// RUN: not shoal-opt %s --shoal-rematerialize=memory-limit=100 --mlir-print-op-on-diagnostic=false 2>&1 | FileCheck %s
// RUN: not shoal-opt %s --shoal-rematerialize=remat=most 2>&1 | FileCheck %s --check-prefix=POLICY
// RUN: not shoal-opt %s --shoal-rematerialize=remat-collectives=all 2>&1 | FileCheck %s --check-prefix=COLLECTIVES
// RUN: not shoal-opt %s --shoal-rematerialize=remat=offload --mlir-print-op-on-diagnostic=false 2>&1 | FileCheck %s --check-prefix=OFFLOAD
// RUN: not shoal-opt %s --shoal-rematerialize=memory-limit=12Gib 2>&1 | FileCheck %s --check-prefix=BYTES

// CHECK: :[[# @LINE + 9]]:1: error: a device is to hold 100 bytes, but the least that was found is 192, by an estimate
// CHECK-NEXT: func.func @f
// CHECK: :[[# @LINE + 8]]:8: note: 64 bytes are held then, of a value of 'tensor<16xf32>'

// POLICY: error: policy of rematerialisation: expected everything, nothing, dots, dots_no_batch, selective, offload or names:NAME,..., but got "most"
// COLLECTIVES: error: collectives of rematerialisation: expected save, params or repeat, but got "all"
// OFFLOAD: :[[# @LINE + 3]]:1: error: policy "offload": a cpu has no memory beside its own to move values to
// BYTES: error: memory limit: expected bytes, as 12GiB, but got "12Gib"

func.func @f(%x: tensor<16xf32>) -> tensor<16xf32> {
  %a = math.exp %x : tensor<16xf32>
  %b = math.sin %a : tensor<16xf32>
  %g = arith.mulf %b, %a : tensor<16xf32> loc(fused<"gradient">["f.py":1:1])
  return %g : tensor<16xf32>
}
