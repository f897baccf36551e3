// What no GPU of the architecture holds is said when it is compiled.
//
// RUN: shoalc %s --target=cuda --emit=summary -o %t 2>&1 | FileCheck %s
// RUN: shoalc %s --target=cuda --cuda-arch=emulated --emit=summary -o %t 2>&1 | count 0
// RUN: shoalc %s --target=cpu --emit=summary -o %t 2>&1 | count 0

// CHECK: warning: a device holds 549,755,813,888 bytes, and a GPU of sm_90 has 150,700,000,000 at most (H200): memory-limit=149GB (memory_limit) has what would not fit computed again
func.func @main(%x: tensor<262144x262144xf32>) -> tensor<262144x262144xf32> {
  %y = math.tanh %x : tensor<262144x262144xf32>
  return %y : tensor<262144x262144xf32>
}
