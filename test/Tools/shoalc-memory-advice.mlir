// What a program says of how it could hold less is one warning with what is said of its memory, or by itself.
//
// RUN: shoalc %s --target=cuda --emit=summary -o %t 2>&1 | FileCheck %s --check-prefix=BEYOND
// RUN: shoalc %s --target=cuda --memory-limit=1024GiB --emit=summary -o %t 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: shoalc %s --target=cpu --emit=summary -o %t 2>&1 | FileCheck %s --check-prefix=ALONE

// BEYOND-COUNT-1: warning: a device holds 549,755,813,888 bytes, and an H100 has 83,500,000,000 for a program: {{.*}} what another GPU has; buffers of one kind; buffers of another
// BEYOND-NOT: warning:
// ALONE-COUNT-1: warning: buffers of one kind; buffers of another
// ALONE-NOT: warning:
module attributes {shoal.memory_advice = ["buffers of one kind", "buffers of another"]} {
  func.func @main(%x: tensor<262144x262144xf32>) -> tensor<262144x262144xf32> {
    %y = math.tanh %x : tensor<262144x262144xf32>
    return %y : tensor<262144x262144xf32>
  }
}
