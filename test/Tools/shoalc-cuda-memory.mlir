// What a GPU does not hold is said when it is compiled, once.
//
// RUN: shoalc %s --target=cuda --emit=summary -o %t 2>&1 | FileCheck %s
// RUN: shoalc %s --target=cuda --cuda-arch=emulated --emit=summary -o %t 2>&1 | count 0
// RUN: shoalc %s --target=cpu --emit=summary -o %t 2>&1 | count 0

// CHECK: warning: a device holds 549,755,813,888 bytes, and an H100 has 83,500,000,000 for a program: whatever is computed again; split more of it, or say by memory-limit (memory_limit) what another GPU has
func.func @main(%x: tensor<262144x262144xf32>) -> tensor<262144x262144xf32> {
  %y = math.tanh %x : tensor<262144x262144xf32>
  return %y : tensor<262144x262144xf32>
}
