// What backward passes compute again: by policy and by name.
//
// RUN: shoal-opt %s -split-input-file --shoal-rematerialize | FileCheck %s
// RUN: shoal-opt %s -split-input-file --shoal-rematerialize=remat=dots | FileCheck %s --check-prefix=DOTS
// RUN: shoal-opt %s -split-input-file --shoal-rematerialize=remat=dots_no_batch | FileCheck %s --check-prefix=NO-BATCH
// RUN: shoal-opt %s -split-input-file --shoal-rematerialize=remat=names:t | FileCheck %s --check-prefix=NAMES
// RUN: shoal-opt %s -split-input-file --shoal-rematerialize="remat=nothing explain=1" --mlir-print-op-on-diagnostic=false -o /dev/null 2>&1 | FileCheck %s --check-prefix=EXPLAIN
// RUN: shoal-opt %s -split-input-file --shoal-rematerialize=remat=nothing --canonicalize --cse | FileCheck %s --check-prefix=CSE

// EXPLAIN: remark: what is computed again takes 75.00% of the forward pass's estimated time
// EXPLAIN: remark: 2 values of 64 bytes are not saved
// EXPLAIN: remark: 32 bytes of math.tanh at {{.*}}:[[# @LINE + 22]]:8 : tensor<8xf32>

// Without a policy nothing changes, but names go.
// CHECK-LABEL: @two_layers
// CHECK-NOT: barrier
// CHECK-NOT: checkpoint_name
// CHECK-NOT: shoal.rematerialized
// CHECK: return

// By name one value is saved, and the other computed from it.
// NAMES-LABEL: @two_layers
// NAMES: %[[T:.*]] = math.tanh
// NAMES: math.exp %[[T]]
// NAMES: %[[KEPT:.*]] = shoal.optimization_barrier %[[T]]
// NAMES: math.exp %[[KEPT]]
// NAMES-NOT: math.tanh
// NAMES: return

// What is computed again is not merged with what was computed first.
// CSE-LABEL: @two_layers
// CSE-COUNT-2: math.tanh
func.func @two_layers(%x: tensor<8xf32>, %g: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %t = math.tanh %x : tensor<8xf32>
  %n = shoal.checkpoint_name %t "t" : tensor<8xf32>
  %e = math.exp %n : tensor<8xf32>
  %y = math.sin %e : tensor<8xf32>
  %gy = arith.mulf %g, %e : tensor<8xf32> loc(fused<"gradient">["f.py":1:1])
  %gx = arith.mulf %gy, %n : tensor<8xf32>
  return %y, %gx : tensor<8xf32>, tensor<8xf32>
}

// -----

// Policies tell products from what is done element by element, and products
// with a batch from those without.

// DOTS-LABEL: @products
// DOTS-COUNT-2: shoal.einsum
// DOTS: shoal.optimization_barrier
// DOTS-NOT: "BIK,BKJ->BIJ"
// DOTS: math.tanh
// DOTS: return

// NO-BATCH-LABEL: @products
// NO-BATCH-COUNT-2: shoal.einsum "BIK,BKJ->BIJ"
// NO-BATCH: return
func.func @products(%x: tensor<2x4x4xf32>, %w: tensor<4x4xf32>) -> (tensor<2x4x4xf32>, tensor<2x4x4xf32>) {
  %a = shoal.einsum "BIK,KJ->BIJ" %x, %w : (tensor<2x4x4xf32>, tensor<4x4xf32>) -> tensor<2x4x4xf32>
  %b = shoal.einsum "BIK,BKJ->BIJ" %a, %x : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %t = math.tanh %b : tensor<2x4x4xf32>
  %s = math.sin %t : tensor<2x4x4xf32>
  %g = arith.mulf %s, %s : tensor<2x4x4xf32> loc(fused<"gradient">["f.py":1:1])
  %h = arith.mulf %g, %t : tensor<2x4x4xf32>
  return %s, %h : tensor<2x4x4xf32>, tensor<2x4x4xf32>
}

// -----

// Nothing that sends runs again, whatever a policy says.
// CSE-LABEL: @sends_once
// CSE: spmd.all_gather
// CSE: %[[SAVED:.*]] = shoal.optimization_barrier
// CSE-NOT: spmd.all_gather
// CSE: math.tanh %[[SAVED]]
// CSE: return
shoal.mesh @mesh = <["x" = 2]>
func.func @sends_once(%x: tensor<8xf32>) -> (tensor<16xf32>, tensor<16xf32>) attributes {shoal.spmd = @mesh} {
  %e = math.exp %x : tensor<8xf32>
  %a = spmd.all_gather @mesh [{"x"}] %e : tensor<8xf32> -> tensor<16xf32>
  %t = math.tanh %a : tensor<16xf32>
  %s = math.sin %t : tensor<16xf32>
  %g = arith.mulf %s, %t : tensor<16xf32> loc(fused<"gradient">["f.py":1:1])
  return %s, %g : tensor<16xf32>, tensor<16xf32>
}
